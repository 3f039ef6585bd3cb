import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { contradictions, writeUntil } from './answers.ts'
import type { Crash } from './writing-program.ts'

test.each<{ name: string; enough: number; crash?: Crash }>([
  { name: 'early', enough: 1 },
  { name: 'at some moment', enough: 500 },
  {
    name: 'before a commit',
    enough: 10_000,
    crash: { point: 'storage.before-commit', failure: 'kill', skip: 20 },
  },
  {
    name: 'between a commit and its answers',
    enough: 10_000,
    crash: { point: 'storage.after-commit', failure: 'kill', skip: 20 },
  },
  {
    name: 'at a checkpoint',
    enough: 100_000,
    crash: { point: 'storage.checkpoint', failure: 'kill', skip: 0 },
  },
])(
  'a server killed $name loses no acknowledged write, has no partial write, and its lock is free',
  async ({ enough, crash }) => {
    await using folder = await temporaryFolder()
    const path = folder.file('gatehouse.db')

    const answers = await writeUntil(path, ({ length }) => length === enough, { crash })

    expect(answers.length).toBeGreaterThan(0)
    expect(await contradictions(path, answers)).toEqual([])
  },
)
