import { mkdir, writeFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { migrate } from '../../src/storage/migrate.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A database in memory and a folder of migrations, to which a test adds. */
async function aFixture() {
  const opened = new AsyncDisposableStack()
  const folder = opened.use(await temporaryFolder())
  await mkdir(folder.file('migrations'))
  const migrations = pathToFileURL(folder.file('migrations') + '/')
  const database = opened.adopt(new Database(':memory:'), (connection) => void connection.close())
  return {
    database,
    add: (name: string, sql: string) => writeFile(new URL(name, migrations), sql),
    migrate: () => migrate(database, migrations),
    meta: () =>
      Object.fromEntries(database.prepare<[], [string, number]>('SELECT name, value FROM meta').raw().all()),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

const first = "CREATE TABLE one (id INTEGER); INSERT INTO meta (name, value) VALUES ('compatible_from', 1)"

describe('migrations', () => {
  test('run in the order of their numbers, each once', async () => {
    await using fixture = await aFixture()
    await fixture.add(
      '0002-more.sql',
      'ALTER TABLE one ADD COLUMN note TEXT; INSERT INTO one (note) VALUES (1)',
    )
    await fixture.add('0001-one.sql', first)
    await fixture.add('README.md', 'no migration')

    fixture.migrate()
    fixture.migrate()

    expect(fixture.database.prepare('SELECT note FROM one').pluck().all()).toEqual(['1'])
    expect(fixture.meta()).toEqual({ schema: 2, compatible_from: 1 })
  })

  test('of a later program are added to those already applied', async () => {
    await using fixture = await aFixture()
    await fixture.add('0001-one.sql', first)
    fixture.migrate()
    await fixture.add('0002-two.sql', 'CREATE TABLE two (id INTEGER)')

    fixture.migrate()

    expect(fixture.meta().schema).toBe(2)
  })

  test('leave nothing if they fail, and earlier ones stay', async () => {
    await using fixture = await aFixture()
    await fixture.add('0001-one.sql', first)
    await fixture.add('0002-bad.sql', 'CREATE TABLE two (id INTEGER); INSERT INTO nowhere VALUES (1)')

    expect(() => fixture.migrate()).toThrow('no such table: nowhere')

    expect(fixture.meta().schema).toBe(1)
    expect(
      fixture.database.prepare("SELECT name FROM sqlite_schema WHERE name IN ('one', 'two')").pluck().all(),
    ).toEqual(['one'])
  })

  test('allow an older program to work with a compatible newer schema', async () => {
    await using fixture = await aFixture()
    await fixture.add('0001-one.sql', first)
    fixture.migrate()
    fixture.database.exec("UPDATE meta SET value = 7 WHERE name = 'schema'")

    fixture.migrate()

    expect(fixture.meta().schema).toBe(7)
  })

  test('refuse a database that requires a newer program with exit code 4, and leave it unchanged', async () => {
    await using folder = await temporaryFolder()
    const path = folder.file('gatehouse.db')
    await (await openSqlite({ path }))[Symbol.asyncDispose]()
    const newer = new Database(path)
    newer.exec("UPDATE meta SET value = 9 WHERE name IN ('schema', 'compatible_from')")
    newer.close()

    await expect(openSqlite({ path })).rejects.toMatchObject({
      exitCode: 4,
      message: `cannot open ${path}: it needs schema 9 or later, this program knows 2`,
    })
  })
})
