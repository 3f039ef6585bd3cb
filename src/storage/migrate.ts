import { readdirSync, readFileSync } from 'node:fs'
import type Database from 'better-sqlite3'
import { StartError } from '../errors.ts'

const sqliteMigrations = new URL('../../migrations/sqlite/', import.meta.url)

/**
 * Applies each missing file of `migrations/` in order of its number, in a transaction of its own. Throws a
 * StartError: 4 if the database requires a newer version of the program, 2 if it belongs to another program.
 * docs/operations.md#backup-and-restore
 */
export function migrate(connection: Database.Database, folder: URL = sqliteMigrations): void {
  const files = migrationsIn(folder)
  const newest = newestSchema(folder)
  prepareMeta(connection)
  const compatibleFrom = readMeta(connection, 'compatible_from') ?? 0
  if (newest < compatibleFrom) {
    throw new StartError(
      4,
      `cannot open ${connection.name}: it needs schema ${compatibleFrom} or later, this program knows ${newest}`,
    )
  }
  for (const name of files)
    apply(connection, schemaOf(name), () => readFileSync(new URL(name, folder), 'utf8'))
}

export const migrationsIn = (folder: URL): string[] =>
  readdirSync(folder)
    .filter((name) => /^\d{4}-[a-z0-9-]+\.sql$/.test(name))
    .sort()

/** The newest schema that this program knows. */
export const newestSchema = (folder: URL = sqliteMigrations): number =>
  migrationsIn(folder).reduce((highest, name) => Math.max(highest, schemaOf(name)), 0)

export const schemaOf = (fileName: string) => Number(fileName.slice(0, 4))

export function readMeta(connection: Database.Database, name: string): number | undefined {
  return connection.prepare<[string], number>('SELECT value FROM meta WHERE name = ?').pluck().get(name)
}

function prepareMeta(connection: Database.Database): void {
  connection
    .transaction(() => {
      const tables = connection
        .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .pluck()
        .all()
      if (tables.includes('meta')) return
      if (tables.length > 0)
        throw new StartError(2, `cannot open ${connection.name}: not a Gatehouse database`)
      connection.exec('CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID')
    })
    .immediate()
}

/** Reads the schema inside the transaction, because another process may have migrated in the meantime. */
function apply(connection: Database.Database, schema: number, sql: () => string): void {
  connection
    .transaction(() => {
      if ((readMeta(connection, 'schema') ?? 0) >= schema) return
      connection.exec(sql())
      connection.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES ('schema', ?)").run(schema)
    })
    .immediate()
}
