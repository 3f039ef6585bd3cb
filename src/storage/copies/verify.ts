import type Database from 'better-sqlite3'
import { newestSchema, readMeta } from '../migrate.ts'
import { type ReadRecord, type RecordSum, sumOf } from '../record-digest.ts'
import { openExisting } from '../sqlite/existing-database.ts'
import { checkLogSize } from '../sqlite/log-size.ts'
import { engineCode } from '../storage-error.ts'
import { type BackupFacts, readFacts } from './backup-facts.ts'

export type Verified = RecordSum & { readonly facts: BackupFacts | undefined }

/** A problem of the file, for the operator. */
export class BrokenDatabase extends Error {
  override readonly name = 'BrokenDatabase'
}

/**
 * Checks a database or a backup: its structure, its schema, and, for a backup, the number and digest of its
 * records. `onRecord` sees each record in key order and may throw. Throws a BrokenDatabase, or an error of
 * the system if the file cannot be read.
 */
export function verifyDatabase(path: string, onRecord?: ReadRecord): Verified {
  try {
    using connection = openExisting(path, { readonly: true })
    // one snapshot, even while a server writes
    connection.exec('BEGIN')
    return verifySnapshot(path, connection, onRecord)
  } catch (cause) {
    throw asBroken(cause)
  }
}

/** The engine's error about a damaged file, as a BrokenDatabase; any other error as it is. */
export function asBroken(cause: unknown): unknown {
  const code = engineCode(cause)
  if (code === 'SQLITE_NOTADB') return new BrokenDatabase('not a Gatehouse database', { cause })
  return code.startsWith('SQLITE_CORRUPT') ? new BrokenDatabase('the file is damaged', { cause }) : cause
}

function verifySnapshot(path: string, connection: Database.Database, onRecord?: ReadRecord): Verified {
  checkTables(connection)
  const structure = connection.pragma('integrity_check(1)', { simple: true })
  if (structure !== 'ok') throw new BrokenDatabase(`the file is damaged: ${String(structure)}`)
  const facts = factsOf(connection)
  return compared(sumOf(connection, { onRecord, onPage: () => checkLogSize(path) }), facts)
}

function checkTables(connection: Database.Database): void {
  const tables = connection.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck()
  const found = new Set(tables.all())
  if (!found.has('meta') || !found.has('records')) throw new BrokenDatabase('not a Gatehouse database')
  const needed = readMeta(connection, 'compatible_from') ?? 0
  if (needed > newestSchema())
    throw new BrokenDatabase(`it needs schema ${needed} or later, this program knows ${newestSchema()}`)
}

function factsOf(connection: Database.Database): BackupFacts | undefined {
  try {
    return readFacts(connection)
  } catch (cause) {
    throw new BrokenDatabase(cause instanceof Error ? cause.message : 'its table backup is unknown', {
      cause,
    })
  }
}

function compared(sum: RecordSum, facts: BackupFacts | undefined): Verified {
  if (facts !== undefined && facts.records !== sum.records)
    throw new BrokenDatabase(`it has ${sum.records} records instead of ${facts.records}`)
  if (facts !== undefined && facts.digest !== sum.digest)
    throw new BrokenDatabase('its records do not have the digest of the backup')
  return { ...sum, facts }
}
