import { expect, test } from 'vitest'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type Crash, startWriter } from './writing-program.ts'

/** Lets a process write until it is killed, after `enough` answers by us if not by itself; gives back what it had answered. */
async function writeUntilKilled(path: string, enough: number, crash?: Crash): Promise<string[]> {
  await using writer = await startWriter(path, crash)
  const acknowledged: string[] = []
  for await (const key of writer.acknowledged) {
    acknowledged.push(key)
    if (acknowledged.length === enough) writer.kill()
  }
  return acknowledged
}

test.each<{ name: string; enough: number; crash?: Crash }>([
  { name: 'early', enough: 1 },
  { name: 'at some moment', enough: 500 },
  { name: 'before a commit', enough: 10_000, crash: { point: 'storage.before-commit', failure: 'kill', skip: 20 } },
  { name: 'between a commit and its answers', enough: 10_000, crash: { point: 'storage.after-commit', failure: 'kill', skip: 20 } },
  { name: 'at a checkpoint', enough: 100_000, crash: { point: 'storage.checkpoint', failure: 'kill', skip: 0 } },
])('a server killed $name loses nothing it answered, has no half of a write, and its lock is free', async ({ enough, crash }) => {
  await using folder = await temporaryFolder()
  const path = folder.file('gatehouse.db')

  const acknowledged = await writeUntilKilled(path, enough, crash)
  await using storage = await openSqlite({ path })
  const left = (await storage.listKeys('left/')).map((key) => key.slice('left/'.length))
  const right = (await storage.listKeys('right/')).map((key) => key.slice('right/'.length))

  expect(acknowledged.length).toBeGreaterThan(0)
  expect(left).toEqual(right)
  expect(new Set(left).isSupersetOf(new Set(acknowledged))).toBe(true)
})
