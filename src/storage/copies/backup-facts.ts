import type Database from 'better-sqlite3'
import { z } from 'zod'

/** The version of the format of a backup file. docs/storage.md#the-backup-file */
const backupFormat = 1

/** What a backup says about itself, in its table `backup`. */
const factFields = z.object({
  format: z.literal(backupFormat),
  product_version: z.string(),
  schema: z.int(),
  compatible_from: z.int(),
  cluster_id: z.string(),
  /** RFC 3339. */
  created_time: z.string(),
  records: z.int(),
  /** Hexadecimal. docs/storage.md#the-backup-file */
  digest: z.string(),
  seal_type: z.string(),
})
export type BackupFacts = Readonly<z.output<typeof factFields>>

/** The facts that the database does not hold in clear text. */
export type GivenFacts = Pick<BackupFacts, 'product_version' | 'cluster_id' | 'created_time' | 'seal_type'>

/** Adds the table `backup`, and so makes the database a backup. */
export function writeFacts(connection: Database.Database, facts: Omit<BackupFacts, 'format'>): BackupFacts {
  const complete: BackupFacts = { format: backupFormat, ...facts }
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
  const facts = factFields.safeParse(values).data
  if (facts === undefined) throw new Error(`its format ${String(values['format'])} is unknown`)
  return facts
}
