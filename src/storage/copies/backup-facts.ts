import type Database from 'better-sqlite3'

/** The version of the format of a backup file. docs/storage.md#the-backup-file */
const backupFormat = 1

/** What a backup says about itself, in its table `backup`. */
export type BackupFacts = {
  readonly format: number
  readonly product_version: string
  readonly schema: number
  readonly compatible_from: number
  readonly cluster_id: string
  /** RFC 3339. */
  readonly created_time: string
  readonly records: number
  /** Hexadecimal. docs/storage.md#the-backup-file */
  readonly digest: string
  readonly seal_type: string
}

/** The facts that the database does not hold in clear text. */
export type GivenFacts = Pick<BackupFacts, 'product_version' | 'cluster_id' | 'created_time' | 'seal_type'>

const numbers = ['schema', 'compatible_from', 'records'] as const
const texts = ['product_version', 'cluster_id', 'created_time', 'digest', 'seal_type'] as const

/** Adds the table `backup`, and so makes the database a backup. */
export function writeFacts(connection: Database.Database, facts: Omit<BackupFacts, 'format'>): BackupFacts {
  const complete = { format: backupFormat, ...facts }
  connection.exec('CREATE TABLE backup (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID')
  const insert = connection.prepare('INSERT INTO backup (name, value) VALUES (?, ?)')
  for (const [name, value] of Object.entries(complete)) insert.run(name, value)
  return complete
}

/** The facts of a backup; undefined if the database is none. Throws if its format is unknown. */
export function readFacts(connection: Database.Database): BackupFacts | undefined {
  const hasTable = connection.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'backup'")
  if (hasTable.get() === undefined) return undefined
  const rows = connection.prepare<[], [string, unknown]>('SELECT name, value FROM backup').raw().all()
  const values = Object.fromEntries(rows)
  const isKnown =
    values['format'] === backupFormat &&
    numbers.every((name) => Number.isSafeInteger(values[name])) &&
    texts.every((name) => typeof values[name] === 'string')
  if (!isKnown) throw new Error(`its format ${String(values['format'])} is unknown`)
  // checked above
  return values as BackupFacts
}
