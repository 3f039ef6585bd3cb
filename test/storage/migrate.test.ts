import { mkdir, writeFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { migrate } from '../../src/storage/migrate.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A database in memory and a folder of migrations, to which a test adds. */
async function aHouse() {
  const opened = new AsyncDisposableStack()
  const folder = opened.use(await temporaryFolder())
  await mkdir(folder.file('migrations'))
  const migrations = pathToFileURL(folder.file('migrations') + '/')
  const database = opened.adopt(new Database(':memory:'), (connection) => void connection.close())
  return {
    database,
    add: (name: string, sql: string) => writeFile(new URL(name, migrations), sql),
    migrate: () => migrate(database, migrations),
    meta: () => Object.fromEntries(database.prepare<[], [string, number]>('SELECT name, value FROM meta').raw().all()),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

const first = "CREATE TABLE one (id INTEGER); INSERT INTO meta (name, value) VALUES ('compatible_from', 1)"

describe('migrations', () => {
  test('run in the order of their numbers, and each once', async () => {
    await using house = await aHouse()
    await house.add('0002-more.sql', 'ALTER TABLE one ADD COLUMN note TEXT; INSERT INTO one (note) VALUES (1)')
    await house.add('0001-one.sql', first)
    await house.add('README.md', 'no migration')

    house.migrate()
    house.migrate()

    expect(house.database.prepare('SELECT note FROM one').pluck().all()).toEqual(['1'])
    expect(house.meta()).toEqual({ schema: 2, compatible_from: 1 })
  })

  test('a later program adds its own to what is there', async () => {
    await using house = await aHouse()
    await house.add('0001-one.sql', first)
    house.migrate()
    await house.add('0002-two.sql', 'CREATE TABLE two (id INTEGER)')

    house.migrate()

    expect(house.meta().schema).toBe(2)
  })

  test('one that fails leaves nothing of itself, and those before it stay', async () => {
    await using house = await aHouse()
    await house.add('0001-one.sql', first)
    await house.add('0002-bad.sql', 'CREATE TABLE two (id INTEGER); INSERT INTO nowhere VALUES (1)')

    expect(() => house.migrate()).toThrow('no such table: nowhere')

    expect(house.meta().schema).toBe(1)
    expect(house.database.prepare("SELECT name FROM sqlite_schema WHERE name IN ('one', 'two')").pluck().all()).toEqual(['one'])
  })

  test('a program works with a newer schema that still allows it', async () => {
    await using house = await aHouse()
    await house.add('0001-one.sql', first)
    house.migrate()
    house.database.exec("UPDATE meta SET value = 7 WHERE name = 'schema'")

    house.migrate()

    expect(house.meta().schema).toBe(7)
  })

  test('a database that asks for a newer program is refused with exit code 4 and left alone', async () => {
    await using folder = await temporaryFolder()
    const path = folder.file('gatehouse.db')
    await (await openSqlite({ path }))[Symbol.asyncDispose]()
    const newer = new Database(path)
    newer.exec("UPDATE meta SET value = 9 WHERE name IN ('schema', 'compatible_from')")
    newer.close()

    await expect(openSqlite({ path })).rejects.toMatchObject({
      exitCode: 4,
      message: `cannot open ${path}: it needs schema 9 or later, this program knows 1`,
    })
  })
})
