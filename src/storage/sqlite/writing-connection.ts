import Database from 'better-sqlite3'
import type { StorageFaults } from '../faults.ts'
import { engineCode, ownCodes } from '../storage-error.ts'
import { unpackRows } from '../write-pack.ts'
import { RowWriter } from './sqlite-rows.ts'

type Log = { busy: number; log: number; checkpointed: number }

/** SQLite's own limit. */
const maxPages = 4_294_967_294
const maxIdleLogBytes = 64 * 1024 * 1024
/** How long an end waits for others that read the log. */
const maxEndingMs = 1_000

export class WritingConnection {
  readonly #connection: Database.Database
  readonly #rows: RowWriter
  readonly #faults: StorageFaults | undefined
  readonly #logState: Database.Statement<[], Log>
  readonly #checkpoint: Database.Statement<[], Log>
  readonly #recoveries: Database.Statement<[]>
  readonly #pageBytes: number
  #mayGrow = true
  logBytes = 0
  /** The part of the log that no checkpoint has copied yet. */
  pendingBytes = 0

  constructor(path: string, faults: StorageFaults | undefined) {
    this.#connection = new Database(path, { fileMustExist: true })
    this.#connection.pragma('synchronous = FULL')
    this.#connection.pragma('wal_autocheckpoint = 0')
    this.#connection.pragma(`journal_size_limit = ${maxIdleLogBytes}`)
    this.#connection.pragma('cache_size = -8192')
    this.#pageBytes = Number(this.#connection.pragma('page_size', { simple: true }))
    this.#rows = new RowWriter(this.#connection, faults)
    this.#faults = faults
    this.#logState = this.#connection.prepare('PRAGMA wal_checkpoint(NOOP)')
    this.#checkpoint = this.#connection.prepare('PRAGMA wal_checkpoint(PASSIVE)')
    this.#recoveries = this.#connection.prepare(
      "INSERT INTO meta (name, value) VALUES ('recoveries', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1",
    )
    this.#measure(this.#logState.get())
  }

  apply(block: ArrayBuffer): void {
    try {
      this.#rows.apply(unpackRows(block))
    } catch (cause) {
      if (this.#mayGrow || engineCode(cause) !== 'SQLITE_FULL') throw cause
      const why =
        'the remaining disk space is reserved for emptying the write-ahead log; deletions still work'
      throw Object.assign(new Error(why, { cause }), { code: ownCodes.roomKept })
    }
  }

  /** Updates the sizes of the log. Ignores failures, which must not fail a commit. */
  measure(): void {
    try {
      this.#measure(this.#logState.get())
    } catch {
      // the next write will report the failure
    }
  }

  /**
   * Whether commits may add pages to the database. If not, a commit that needs one fails with an explanation.
   */
  allowGrowth(mayGrow: boolean): void {
    if (mayGrow === this.#mayGrow) return
    // SQLite never sets the limit below the current number of pages
    this.#connection.pragma(`max_page_count = ${mayGrow ? maxPages : 1}`)
    this.#mayGrow = mayGrow
  }

  checkpoint(): void {
    this.#faults?.pass('storage.checkpoint')
    this.#measure(this.#checkpoint.get())
  }

  /**
   * Must be called after a failed commit. The log may contain the whole commit, which the next recovery of
   * the log would restore, so another commit overwrites it. This works even if it throws, on a disk that
   * accepts writes but fails to sync.
   */
  overwriteFailed(): void {
    this.#recoveries.run()
  }

  isSound(): boolean {
    return this.#connection.pragma('quick_check(1)', { simple: true }) === 'ok'
  }

  close(): void {
    this.#connection.close()
  }

  /** Copies the whole log into the database and empties it, also while other connections are open. */
  emptyLog(): void {
    this.#faults?.pass('storage.checkpoint')
    this.#connection.pragma(`busy_timeout = ${maxEndingMs}`)
    this.#connection.pragma('wal_checkpoint(TRUNCATE)')
  }

  #measure(log: Log | undefined): void {
    if (log === undefined) return
    this.logBytes = log.log * this.#pageBytes
    this.pendingBytes = (log.log - log.checkpointed) * this.#pageBytes
  }
}

/**
 * The writing connection of a thread: opened when needed, and reopened after each failure. Never commits to a
 * log that may still contain a failed commit.
 */
export class RecoveringConnection {
  readonly #open: () => WritingConnection
  #connection: WritingConnection | undefined
  #isLogClean: boolean
  #mustCheck = false
  #isDamaged = false

  constructor(open: () => WritingConnection, isLogClean: boolean) {
    this.#open = open
    this.#isLogClean = isLogClean
  }

  get current(): WritingConnection | undefined {
    return this.#connection
  }

  get isLogClean(): boolean {
    return this.#isLogClean
  }

  /** The open connection, with a clean log and a sound database. Throws the engine's error. */
  ready(): WritingConnection {
    const connection = this.#clean()
    if (this.#mustCheck) this.#isDamaged = !connection.isSound()
    this.#mustCheck = false
    if (this.#isDamaged) throw Object.assign(new Error('the database is damaged'), { code: ownCodes.damaged })
    return connection
  }

  /** Writes all or nothing. If it throws, the caller must call `failed`. */
  write(connection: WritingConnection, block: ArrayBuffer): void {
    this.#isLogClean = false
    connection.apply(block)
    this.#isLogClean = true
  }

  /** Call after a failure, before it is reported: a crash after the report must find a clean log. */
  failed(code: string): void {
    this.#mustCheck ||= code.startsWith('SQLITE_IOERR') || code.startsWith('SQLITE_CORRUPT')
    this.close()
    this.tryClean()
  }

  tryClean(): void {
    try {
      this.#clean()
    } catch {
      this.close()
    }
  }

  close(): void {
    const closing = this.#connection
    this.#connection = undefined
    closing?.close()
  }

  /** The last `close`: the database file is complete without its log. */
  end(): void {
    try {
      if (this.#isLogClean) this.#connection?.emptyLog()
    } catch {
      // the log stays, and belongs to the database
    } finally {
      this.close()
    }
  }

  #clean(): WritingConnection {
    this.#connection ??= this.#open()
    if (!this.#isLogClean) this.#connection.overwriteFailed()
    this.#isLogClean = true
    return this.#connection
  }
}
