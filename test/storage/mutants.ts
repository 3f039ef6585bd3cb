import { copyFile, cp, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const project = join(import.meta.dirname, '../..')

export type Scenario = 'power cut' | 'power cut at a sync' | 'failed sync' | 'lost thread'

type Edit = readonly [from: string, to: string]

/**
 * One broken promise of the storage: its name in docs/storage.md, the change, what must reveal it, and in
 * which form.
 */
export type Mutant = { name: string; file: string; edits: readonly Edit[]; scenario: Scenario; sign: string }

const writer = 'src/storage/sqlite/writing-connection.ts'
const groups = 'src/storage/group-commit.ts'
const lost = { sign: ' lost' }
const back = { sign: ' back after a refusal' }
const half = { sign: ' half of a write' }

export const mutants: readonly Mutant[] = [
  {
    name: '`synchronous = OFF`',
    file: writer,
    edits: [['synchronous = FULL', 'synchronous = OFF']],
    scenario: 'power cut',
    ...lost,
  },
  {
    name: '`synchronous = NORMAL`',
    file: writer,
    edits: [['synchronous = FULL', 'synchronous = NORMAL']],
    scenario: 'power cut',
    ...lost,
  },
  {
    name: 'the recovery does nothing',
    file: writer,
    edits: [['this.#recoveries.run()', '']],
    scenario: 'failed sync',
    ...back,
  },
  {
    name: 'the recovery waits for the next write',
    file: writer,
    edits: [['this.close()\n    this.tryClean()', 'this.close()']],
    scenario: 'failed sync',
    ...back,
  },
  {
    name: 'a failed commit is answered as a success',
    file: groups,
    edits: [['for (const step of decided) step.reject(cause)', 'for (const step of decided) step.settle()']],
    scenario: 'failed sync',
    ...lost,
  },
  {
    name: 'a write is answered before its commit',
    file: groups,
    edits: [['this.#engine.commit(', 'for (const step of decided) step.settle()\n    this.#engine.commit(']],
    scenario: 'power cut at a sync',
    ...lost,
  },
  {
    name: 'each row is a transaction of its own',
    file: 'src/storage/sqlite/sqlite-rows.ts',
    edits: [
      ['this.#begin.run()', ''],
      ['this.#commit.run()', ''],
    ],
    scenario: 'power cut at a sync',
    ...half,
  },
  {
    name: 'a lost thread counts as a success',
    file: 'src/storage/sqlite/database-file.ts',
    edits: [['isLost && rows.every(', 'isLost || rows.every(']],
    scenario: 'lost thread',
    ...lost,
  },
]

/** A copy of the storage and of the writing program, whose compiled code is cached for all mutants. */
export type Copy = {
  /** Changes the copy to the mutant, and no other; returns the path of the program. */
  mutated(mutant: Pick<Mutant, 'file' | 'edits'>): Promise<string>
}

export async function copyForMutants(folder: string): Promise<Copy> {
  const program = 'test/storage/writing-program.ts'
  for (const part of ['src/storage', 'src/lib', 'src/errors.ts', 'migrations', 'package.json', program]) {
    await cp(join(project, part), join(folder, part), { recursive: true })
  }
  await symlink(join(project, 'node_modules'), join(folder, 'node_modules'))
  let former: string | undefined
  return {
    mutated: async ({ file, edits }) => {
      if (former !== undefined) await copyFile(join(project, former), join(folder, former))
      former = file
      let source = await readFile(join(project, file), 'utf8')
      for (const [from, to] of edits) {
        if (source.split(from).length !== 2) throw new Error(`${file} does not have this once: ${from}`)
        source = source.replace(from, () => to)
      }
      await writeFile(join(folder, file), source)
      return join(folder, program)
    },
  }
}
