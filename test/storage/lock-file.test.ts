import { stat } from 'node:fs/promises'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { startWriter } from './writing-program.ts'

test('a second server in the same process is refused with exit code 3', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gatehouse.db')
  await using _held = await openSqlite({ path })

  await expect(openSqlite({ path })).rejects.toMatchObject({ exitCode: 3, message: `cannot open ${path}: in use by process ${process.pid}` })
})

test('a second server in another process is refused, and told which one holds it', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gatehouse.db')
  await using holder = await startWriter(path)

  await expect(openSqlite({ path })).rejects.toMatchObject({ exitCode: 3, message: `cannot open ${path}: in use by process ${holder.pid}` })
})

test('of several servers that start at once exactly one gets it', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gatehouse.db')

  const outcomes = await Promise.allSettled(Array.from({ length: 3 }, () => startWriter(path)))
  const started = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  for (const writer of started) await writer[Symbol.asyncDispose]()

  expect(started).toHaveLength(1)
})

test('a closed server leaves the lock free, and its file where it is', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gatehouse.db')
  await (await openSqlite({ path }))[Symbol.asyncDispose]()

  await using _again = await openSqlite({ path })

  expect((await stat(`${path}.lock`)).isFile()).toBe(true)
})

test('a server that could not open the database leaves the lock free', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gatehouse.db')
  new Database(path).exec('CREATE TABLE other (id INTEGER)').close()
  await expect(openSqlite({ path })).rejects.toMatchObject({ exitCode: 2 })
  new Database(path).exec('DROP TABLE other').close()

  await using storage = await openSqlite({ path })

  expect(await storage.listKeys('')).toEqual([])
})
