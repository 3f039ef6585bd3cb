import Database from 'better-sqlite3'
import { StartError } from '../../errors.ts'
import { engineCode, failureKind } from '../storage-error.ts'

/**
 * Locks the database at `path` against a second server; other programs can still read it. Throws a
 * StartError (3) with the holder's process id and `name`, the operator's name of the file.
 *
 * It is an operating system lock on `<path>.lock`. So it ends with the process in any case, works between
 * containers that do not see each other's processes, and needs no check whether a recorded process is alive.
 * Node.js offers no file locks, so an open SQLite write transaction holds it; `user_version` contains the
 * process id.
 */
export function holdLock(path: string, name = path): Disposable {
  const connection = new Database(`${path}.lock`, { timeout: 0 })
  try {
    // a journal file would need disk space
    connection.pragma('journal_mode = MEMORY')
    connection.exec('BEGIN IMMEDIATE')
    recordHolder(connection)
  } catch (cause) {
    const holder = engineCode(cause) === 'SQLITE_BUSY' ? readHolder(connection) : undefined
    connection.close()
    throw holder === undefined
      ? cause
      : new StartError(3, `cannot open ${name}: in use by ${holder}`, { cause })
  }
  return { [Symbol.dispose]: () => connection.close() }
}

/** Records the holder's process id. On a full disk the lock works without it. */
function recordHolder(connection: Database.Database): void {
  try {
    connection.exec(`PRAGMA user_version = ${process.pid}; COMMIT; BEGIN IMMEDIATE`)
  } catch (cause) {
    if (failureKind(engineCode(cause)) !== 'full') throw cause
    if (!connection.inTransaction) connection.exec('BEGIN IMMEDIATE')
  }
}

function readHolder(connection: Database.Database): string {
  // wait: the holder may be writing its process id
  connection.pragma('busy_timeout = 2000')
  const holder = Number(connection.pragma('user_version', { simple: true }))
  return holder === 0 ? 'another process' : `process ${holder}`
}
