import Database from 'better-sqlite3'
import type { StorageFaults } from './faults.ts'
import { RowWriter } from './sqlite-rows.ts'
import { engineCode, ownCodes } from './storage-error.ts'
import { unpackRows } from './write-pack.ts'

type Log = { busy: number; log: number; checkpointed: number }

/** The engine's own limit. */
const mostPages = 4_294_967_294
const keepLogFileBytes = 64 * 1024 * 1024

/** The writing connection and its log. */
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
  /** Part of the log that no checkpoint has copied yet. */
  pendingBytes = 0

  constructor(path: string, faults: StorageFaults | undefined) {
    this.#connection = new Database(path, { fileMustExist: true })
    this.#connection.pragma('synchronous = FULL')
    this.#connection.pragma('wal_autocheckpoint = 0')
    this.#connection.pragma(`journal_size_limit = ${keepLogFileBytes}`)
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
      const why = 'what is left of the disk is needed to empty the write-ahead log; deleting still works'
      throw Object.assign(new Error(why, { cause }), { code: ownCodes.roomKept })
    }
  }

  /** Updates the sizes of the log. Ignores failures, which must not fail a commit. */
  measure(): void {
    try {
      this.#measure(this.#logState.get())
    } catch {
      // the next write meets the same disk
    }
  }

  /**
   * Whether a commit may take pages that the database does not have yet; one that needs them fails, with the
   * reason in words.
   */
  allowGrowth(mayGrow: boolean): void {
    if (mayGrow === this.#mayGrow) return
    // never less than the pages there are
    this.#connection.pragma(`max_page_count = ${mayGrow ? mostPages : 1}`)
    this.#mayGrow = mayGrow
  }

  checkpoint(): void {
    this.#faults?.pass('storage.checkpoint')
    this.#measure(this.#checkpoint.get())
  }

  /**
   * After a failed commit. The log may hold all of it, and the next recovery of the log would bring it back.
   * A commit of our own takes its place. That is so even if this one throws, on a disk that takes writes and
   * fails at syncs.
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

  #measure(log: Log | undefined): void {
    if (log === undefined) return
    this.logBytes = log.log * this.#pageBytes
    this.pendingBytes = (log.log - log.checkpointed) * this.#pageBytes
  }
}

/**
 * The writing connection over the whole life of its thread: opened when it is needed, and again after each
 * failure. Nothing is written over a log that may still hold what a failed commit left there.
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

  /** The connection, if it is open. */
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

  #clean(): WritingConnection {
    this.#connection ??= this.#open()
    if (!this.#isLogClean) this.#connection.overwriteFailed()
    this.#isLogClean = true
    return this.#connection
  }
}
