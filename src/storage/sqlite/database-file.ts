import { Buffer } from 'node:buffer'
import { closeSync, openSync, realpathSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { ServiceError, StartError } from '../../errors.ts'
import { systemReason } from '../../lib/system/private-file.ts'
import { marksOf, refuseMarked } from '../copy-marks.ts'
import type { StorageFaults } from '../faults.ts'
import { FileWatch, identityOf } from '../file-watch.ts'
import type { RowWrite } from '../group.ts'
import { migrate } from '../migrate.ts'
import { engineCode, failureKind, ownCodes, storageError } from '../storage-error.ts'
import type { StorageEvents } from '../storage-events.ts'
import { requireFolderOf } from './database-folder.ts'
import { holdLock } from './lock-file.ts'
import { type LogLimits, type LogState, watchLog } from './log-keeper.ts'
import { refuseNetworkDisk } from './network-disk.ts'
import { RowReader } from './sqlite-rows.ts'
import { threadLost, WriterThread } from './writer-thread.ts'

export type DatabaseFileOptions = LogLimits & {
  path: string
  allowNetworkDisk: boolean
  events: StorageEvents
  faults: StorageFaults | undefined
}

/** Free disk space that SQLite needs for the shared memory of two connections. */
const minSharedMemoryBytes = 128 * 1024

type FileParts = {
  readonly path: string
  readonly logPath: string
  readonly writer: WriterThread
  readonly files: FileWatch
  readonly faults: StorageFaults | undefined
  readonly opened: AsyncDisposableStack
}

/**
 * A database file with a connection for reads and a thread for writes. On a full disk the reading connection
 * opens the file exclusively; the first write after space is available starts the thread.
 */
export class DatabaseFile implements AsyncDisposable {
  readonly #parts: FileParts
  #reading: Reading

  private constructor(parts: FileParts, reading: Reading) {
    this.#parts = parts
    this.#reading = reading
  }

  /** Opens or creates the file. Throws a StartError if it cannot be used. */
  static async open({
    path,
    allowNetworkDisk,
    events,
    faults,
    logGoalBytes,
    logLimitBytes,
  }: DatabaseFileOptions): Promise<DatabaseFile> {
    await using opened = new AsyncDisposableStack()
    // lock the real path, so that links lead to the same lock
    const realPath = prepareFile(path)
    if (!allowNetworkDisk) await refuseNetworkDisk(dirname(realPath))
    opened.use(holdLock(realPath, path))
    const files = opened.use(new FileWatch((reason) => events.fileLost(reason)))
    for (const watched of [path, `${realPath}.lock`]) files.add(watched)
    const identity = identityOf(path)
    const data = { path, identity, faults: faults?.shared, logGoalBytes, logLimitBytes }
    const writer = new WriterThread(data, watchLog(events, logGoalBytes))
    const reading = openReading(path, faults)
    const parts = { path, logPath: `${realPath}-wal`, writer, files, faults, opened: opened.move() }
    const file = new DatabaseFile(parts, reading)
    try {
      if (!reading.isExclusive) await file.#startWriter()
      return file
    } catch (cause) {
      await file[Symbol.asyncDispose]()
      throw cause
    }
  }

  get reader(): RowReader {
    return this.#reading.rows
  }

  get log(): LogState {
    return this.#parts.writer.log
  }

  /** All or nothing; rejects with a ServiceError. */
  async commit(rows: readonly RowWrite[]): Promise<void> {
    if (this.#parts.files.reason !== undefined)
      throw storageError(ownCodes.replaced, new Error(this.#parts.files.reason))
    if (this.#reading.isExclusive) await this.#reopenShared()
    try {
      await this.#parts.writer.commit(rows)
    } catch (cause) {
      const isLost = cause instanceof ServiceError && cause.reason === threadLost
      // the outcome is unknown: check whether the rows are in the database
      if (isLost && rows.every((row) => this.#isWritten(row))) return
      // a new thread cleans up what the lost one may have left in the log
      if (isLost) await this.#parts.writer.ready().catch(() => {})
      throw cause
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#parts.files[Symbol.dispose]()
    // the last connection syncs the log and removes it: a disk that hangs must not block this thread
    this.#reading.connection.close()
    await this.#parts.writer[Symbol.asyncDispose]()
    await this.#parts.opened.disposeAsync()
  }

  async #startWriter(): Promise<void> {
    await this.#parts.writer.ready()
    this.#parts.files.add(this.#parts.logPath)
  }

  /** Compares the values, because a row that keeps its revision has it in any case. */
  #isWritten({ key, value, revision }: RowWrite): boolean {
    const row = this.reader.get(key)
    if (row === undefined || value === undefined) return row === value
    return row.revision === revision && Buffer.compare(row.value, value) === 0
  }

  /**
   * Reopens the reading connection in shared mode and starts the writing thread. Rejects with a ServiceError
   * while the disk is full.
   */
  async #reopenShared(): Promise<void> {
    const { bavail, bsize } = statfsSync(this.#parts.path)
    if (bavail * bsize < minSharedMemoryBytes) throw storageError('SQLITE_FULL')
    this.#reading.connection.close()
    try {
      this.#reading = openReading(this.#parts.path, this.#parts.faults)
    } catch (cause) {
      throw storageError(engineCode(cause), cause)
    }
    if (this.#reading.isExclusive) throw storageError('SQLITE_FULL')
    await this.#startWriter()
  }
}

/** `isExclusive`: no other connection can read or write the file. */
type Reading = {
  readonly connection: Database.Database
  readonly rows: RowReader
  readonly isExclusive: boolean
}

/** Opens the file in shared mode or, if the disk has no room for that, exclusively. */
function openReading(path: string, faults: StorageFaults | undefined): Reading {
  try {
    try {
      return readingOf(openFile(path, 'NORMAL'), faults, false)
    } catch (cause) {
      if (!isOutOfSpace(engineCode(cause))) throw cause
      return readingOf(openFile(path, 'EXCLUSIVE'), faults, true)
    }
  } catch (cause) {
    if (cause instanceof StartError) throw cause
    const code = engineCode(cause)
    if (code === 'SQLITE_NOTADB')
      throw new StartError(2, `cannot open ${path}: not a Gatehouse database`, { cause })
    const kind = failureKind(code)
    if (kind === 'other' && code !== 'SQLITE_CANTOPEN') throw cause
    throw new StartError(
      kind === 'corrupt' ? 1 : 2,
      `cannot open ${path}: ${storageError(code, cause).message}`,
      { cause },
    )
  }
}

function readingOf(
  connection: Database.Database,
  faults: StorageFaults | undefined,
  isExclusive: boolean,
): Reading {
  try {
    const rows = new RowReader(connection, faults)
    rows.lastRevision()
    return { connection, rows, isExclusive }
  } catch (cause) {
    connection.close()
    throw cause
  }
}

/** On a full disk, SQLite cannot create the shared index of the write-ahead log. */
const isOutOfSpace = (code: string) =>
  failureKind(code) === 'full' || code.startsWith('SQLITE_IOERR_SHM') || code === 'SQLITE_CANTOPEN'

/**
 * Creates the file before SQLite opens it, readable only by its owner; SQLite gives its other files the same
 * mode. Returns the real path.
 */
export function prepareFile(path: string): string {
  requireFolderOf(path)
  try {
    closeSync(openSync(path, 'a', 0o600))
    const realPath = realpathSync(path)
    closeSync(openSync(`${realPath}.lock`, 'a', 0o600))
    return realPath
  } catch (cause) {
    throw new StartError(2, `cannot open ${path}: ${systemReason(cause)}`, { cause })
  }
}

/** Migrates before switching to WAL mode, so that a refused file stays unchanged. */
function openFile(path: string, lockingMode: 'NORMAL' | 'EXCLUSIVE'): Database.Database {
  const connection = new Database(path)
  try {
    connection.pragma(`locking_mode = ${lockingMode}`)
    migrate(connection)
    refuseMarked(path, marksOf(connection))
    connection.pragma('journal_mode = WAL')
    connection.pragma('synchronous = FULL')
    connection.pragma('wal_autocheckpoint = 0')
    connection.pragma('query_only = 1')
    return connection
  } catch (cause) {
    connection.close()
    throw cause
  }
}
