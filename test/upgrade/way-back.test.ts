import { copyFile, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { migrate } from '../../src/storage/migrate.ts'
import { startInFolder } from '../support/folder-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const migrations = join(import.meta.dirname, '../../migrations/sqlite')

test('version 0.2.0 refuses a store that this version has opened with exit code 4, and changes nothing', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('data/gatehouse.db')
  const server = await startInFolder({ folder: folder.path })
  await server.as(server.rootToken).write('sys/mounts/secret', { type: 'kv-v2' })
  await server.stop()
  // what 0.2.0 knows; it checks the same number before it writes anything
  await mkdir(folder.file('0.2.0'))
  await copyFile(join(migrations, '0001-records.sql'), folder.file('0.2.0/0001-records.sql'))
  const before = await readFile(path)
  using opened = new DisposableStack()
  const database = opened.adopt(new Database(path), (connection) => void connection.close())

  const open = () => migrate(database, pathToFileURL(`${folder.file('0.2.0')}/`))

  expect(open).toThrow(
    expect.objectContaining({
      exitCode: 4,
      message: `cannot open ${path}: it needs schema 2 or later, this program knows 1`,
    }),
  )
  expect(await readFile(path)).toEqual(before)
})
