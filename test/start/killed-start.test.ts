import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { startInFolder } from '../support/folder-server.ts'
import { type ProcessOptions, StartedProcess } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const program = 'test/start/killed-start-program.ts'
const tokenIn = (text: string) => /^Root token: (\S+)$/m.exec(text)?.[1]

/**
 * Lets a first start copy its folder before each of its steps: what a kill at that moment would leave. Resolves
 * with the number of steps it took until it listened.
 */
async function stepsOfFirstStart(copies: string, options: ProcessOptions): Promise<number> {
  const child = new StartedProcess(program, { ...options, args: [copies] })
  await child.logged('is listening on')
  const steps = await readdir(copies)
  await child.end('SIGKILL')
  return steps.filter((name) => name.endsWith('.printed')).length
}

/** Starts again with what a kill before this step left, and asks with the token that was told. */
async function afterKillAt(step: number, copies: string, inFile: boolean): Promise<object> {
  const folder = join(copies, String(step))
  const printed = await readFile(`${folder}.printed`, 'utf8')
  const inTokenFile = await readFile(join(folder, 'root-token'), 'utf8').catch(() => '')
  await using server = await startInFolder({ folder })
  const told = server.rootTokens
  const before = inFile ? inTokenFile.trim() : tokenIn(printed)
  const tokens = [...(before === undefined || (inFile && told.length > 0) ? [] : [before]), ...told]
  const { status } = await server.as(tokens[0] ?? '').read('auth/token/lookup-self')
  // told twice, it is the same one
  return { step, tokens: new Set(tokens).size, isGood: status === 200 }
}

describe('a first start that is killed before any of its steps', () => {
  test.each([
    { name: 'prints', inFile: false, first: 0, last: 13 },
    { name: 'keeps in a file', inFile: true, first: 10, last: 14 },
  ])(
    'leaves a folder in which the next one serves, with the root token that it or the first one $name',
    async ({ inFile, first, last }) => {
      await using folder = await temporaryFolder()
      await using copies = await temporaryFolder()
      const settings: Record<string, string> = inFile ? { ROOT_TOKEN_FILE: folder.file('root-token') } : {}
      const steps = await stepsOfFirstStart(copies.path, { folder: folder.path, settings })

      const outcomes: object[] = []
      for (let step = first; step < steps; step += 1)
        outcomes.push(await afterKillAt(step, copies.path, inFile))

      expect(outcomes.length).toBeGreaterThan(last - first)
      expect(outcomes).toEqual(outcomes.map((_, at) => ({ step: first + at, tokens: 1, isGood: true })))
    },
  )
})
