import Database from 'better-sqlite3'
import { StartError } from '../errors.ts'
import { engineCode, failureKind } from './storage-error.ts'

/**
 * Keeps a second server away from the database at `path`, while other programs can still read it. Throws a StartError (3) with the holder's process id
 * and `name`, what the operator calls the file.
 *
 * The lock is the operating system's own, on `<path>.lock`, so that it ends with the process however that ends, holds between containers that do not
 * see each other's processes, and needs no guess whether a recorded process still lives. SQLite is the way to it that Node offers: an open write
 * transaction on a database of its own, whose `user_version` tells who holds it.
 */
export function holdLock(path: string, name = path): Disposable {
  const connection = new Database(`${path}.lock`, { timeout: 0 })
  try {
    // a journal of its own would need room on the disk
    connection.pragma('journal_mode = MEMORY')
    connection.exec('BEGIN IMMEDIATE')
    noteHolder(connection)
  } catch (cause) {
    const holder = engineCode(cause) === 'SQLITE_BUSY' ? readHolder(connection) : undefined
    connection.close()
    throw holder === undefined ? cause : new StartError(3, `cannot open ${name}: in use by ${holder}`, { cause })
  }
  return { [Symbol.dispose]: () => connection.close() }
}

/** Lets others read who holds the lock; without room for that, the lock is all there is. */
function noteHolder(connection: Database.Database): void {
  try {
    connection.exec(`PRAGMA user_version = ${process.pid}; COMMIT; BEGIN IMMEDIATE`)
  } catch (cause) {
    if (failureKind(engineCode(cause)) !== 'full') throw cause
    if (!connection.inTransaction) connection.exec('BEGIN IMMEDIATE')
  }
}

function readHolder(connection: Database.Database): string {
  // waits out the moment in which the holder writes its number
  connection.pragma('busy_timeout = 2000')
  const holder = Number(connection.pragma('user_version', { simple: true }))
  return holder === 0 ? 'another process' : `process ${holder}`
}
