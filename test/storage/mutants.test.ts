import { mkdir, readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noSimulatedDisk, seededRandom, simulateDisk } from '../support/disk/simulated-disk.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { contradictions, writeUntil } from './answers.ts'
import { type Copy, copyForMutants, mutants, type Scenario } from './mutants.ts'
import type { WriterOptions } from './writing-program.ts'

/** Lets the program write, injects a fault, and compares acknowledged writes with the database. */
type Run = (folder: string, program: string | undefined) => Promise<string[]>

const enough = 30
/**
 * Between the two halves of a write, and after it: wherever a pair begins, one of the two positions is in its
 * middle.
 */
const cuts = [20, 21]
/** The syncs of the new log, and of a few writes: each write has one, and `enough` writes have many more. */
const syncsBeforeFailure = 5

const scenarios: Record<Scenario, Run> = {
  'power cut': async (folder, program) => {
    using disk = simulateDisk(folder)
    const path = `${folder}/gatehouse.db`
    const options = { ...optionsOf(program), environment: await disk.environment() }
    const answers = await writeUntil(path, ({ length }) => length === enough, options)
    await disk.loseUnsynced('all', seededRandom(1))
    return [...(await contradictions(path, answers)), ...(answers.length < enough ? ['too few answers'] : [])]
  },
  'power cut at a sync': async (folder, program) => {
    const found: string[] = []
    for (const cut of cuts) {
      const path = `${folder}/${cut}/gatehouse.db`
      using disk = simulateDisk(`${folder}/${cut}`)
      const environment = await disk.environment()
      disk.cutAtSync(cut)
      const answers = await writeUntil(path, () => false, {
        ...optionsOf(program),
        environment,
        commitMs: 50,
      })
      await disk.loseUnsynced('all', seededRandom(cut))
      found.push(...(await contradictions(path, answers)), ...(answers.length === 0 ? ['no answer'] : []))
    }
    return found
  },
  'failed sync': async (folder, program) => {
    using disk = simulateDisk(folder)
    const path = `${folder}/gatehouse.db`
    const options = { ...optionsOf(program), environment: await disk.environment() }
    // set before the start, because the program does not wait until its answers are read
    disk.failLogSyncs(1, syncsBeforeFailure)
    return contradictions(path, await writeUntil(path, ({ length }) => length === enough, options))
  },
  'lost thread': async (folder, program) => {
    await mkdir(folder)
    const path = `${folder}/gatehouse.db`
    const crash = { point: 'storage.before-commit', failure: 'end-thread', skip: 5 } as const
    return contradictions(
      path,
      await writeUntil(path, ({ length }) => length === enough, { ...optionsOf(program), crash }),
    )
  },
}

const optionsOf = (program: string | undefined): WriterOptions => ({
  callers: 1,
  ...(program === undefined ? {} : { program }),
})

describe.skipIf(noSimulatedDisk !== undefined)('the simulated faults', () => {
  let copies: Awaited<ReturnType<typeof temporaryFolder>>
  let copy: Copy
  beforeAll(async () => {
    copies = await temporaryFolder()
    copy = await copyForMutants(copies.path)
  })
  afterAll(() => copies[Symbol.asyncDispose]())

  test.each(Object.entries(scenarios))('%s: the answers and the database agree', async (_, run) => {
    await using folder = await temporaryFolder()

    expect(await run(folder.file('data'), undefined)).toEqual([])
  })

  test.each(mutants)('$scenario notices that $name', async ({ scenario, sign, ...mutant }) => {
    await using folder = await temporaryFolder()
    const program = await copy.mutated(mutant)

    expect(await scenarios[scenario](folder.file('data'), program)).toContainEqual(
      expect.stringContaining(sign),
    )
  })
})

test('docs/storage.md names exactly the tested mutants', async () => {
  const page = await readFile(new URL('../../docs/storage.md', import.meta.url), 'utf8')
  const [, section = ''] = page.split('## What the tests would notice\n')
  const named = [...(section.split('\n## ')[0]?.matchAll(/^\| (?!mutant|---)([^|]+) \|/gm) ?? [])].map(
    ([, name]) => name,
  )

  expect(named).toEqual(mutants.map(({ name }) => name))
})
