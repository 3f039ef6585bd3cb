import { mkdir, readdir, stat, symlink } from 'node:fs/promises'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { startWriter } from './writing-program.ts'

test('a second server in the same process is refused with exit code 3', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gatehouse.db')
  await using _held = await openSqlite({ path })

  await expect(openSqlite({ path })).rejects.toMatchObject({
    exitCode: 3,
    message: `cannot open ${path}: in use by process ${process.pid}`,
  })
})

test('a second server in another process is refused, and the error names the holder', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gatehouse.db')
  await using holder = await startWriter(path)

  await expect(openSqlite({ path })).rejects.toMatchObject({
    exitCode: 3,
    message: `cannot open ${path}: in use by process ${holder.pid}`,
  })
})

test('of several servers that start at once exactly one gets it', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gatehouse.db')

  const outcomes = await Promise.allSettled(Array.from({ length: 3 }, () => startWriter(path)))
  const started = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  for (const writer of started) await writer[Symbol.asyncDispose]()

  expect(started).toHaveLength(1)
})

test('a closed server releases the lock, and its file remains', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gatehouse.db')
  await (await openSqlite({ path }))[Symbol.asyncDispose]()

  await using _again = await openSqlite({ path })

  expect((await stat(`${path}.lock`)).isFile()).toBe(true)
})

test('a server that could not open the database releases the lock', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gatehouse.db')
  new Database(path).exec('CREATE TABLE other (id INTEGER)').close()
  await expect(openSqlite({ path })).rejects.toMatchObject({ exitCode: 2 })
  new Database(path).exec('DROP TABLE other').close()

  await using storage = await openSqlite({ path })

  expect(await storage.listKeys('')).toEqual([])
})

test('a database counts as in use through any symbolic link', async () => {
  await using folder = await temporaryFolder()
  await mkdir(folder.file('disk'))
  await symlink(folder.file('disk/gatehouse.db'), folder.file('file.db'))
  await symlink(folder.file('disk'), folder.file('folder'))
  const path = folder.file('file.db')
  await using _storage = await openSqlite({ path })

  for (const other of [folder.file('disk/gatehouse.db'), folder.file('folder/gatehouse.db'), path]) {
    await expect(openSqlite({ path: other })).rejects.toMatchObject({
      exitCode: 3,
      message: `cannot open ${other}: in use by process ${process.pid}`,
    })
  }
  expect(await readdir(folder.path)).toEqual(['disk', 'file.db', 'folder'])
})
