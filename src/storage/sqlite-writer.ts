import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { StorageFaults } from './faults.ts'
import { RowWriter } from './sqlite-rows.ts'
import { engineCode } from './storage-error.ts'
import { unpackRows } from './write-pack.ts'

/** What the writing thread is started with. */
export type WriterData = {
  path: string
  faults: SharedArrayBuffer | undefined
  /** Pending log above which a checkpoint follows a commit. */
  logGoalBytes: number
  /** Log size (a long reader elsewhere keeps it from being reset) above which nothing more is written. */
  logLimitBytes: number
  /** The thread before this one ended in the middle of a group: its log is cleaned first. */
  recover: boolean
}

/** Its answers: one after opening, one a group. `failed` is the engine's code. */
export type WriterReply = { failed?: string; message?: string; logBytes: number; checkpoints: number }

type Log = { busy: number; log: number; checkpointed: number }

const idleCheckpointMs = 200
const retryMs = 1_000
const idleGoalBytes = 256 * 1024
const keepLogFileBytes = 64 * 1024 * 1024

/** The connection that writes, and its log. */
class Writer {
  readonly #connection: Database.Database
  readonly #rows: RowWriter
  readonly #faults: StorageFaults | undefined
  readonly #logState: Database.Statement<[], Log>
  readonly #checkpoint: Database.Statement<[], Log>
  readonly #recoveries: Database.Statement<[]>
  readonly #pageBytes: number
  checkpoints = 0
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
    this.#rows.apply(unpackRows(block))
  }

  /** A commit stands even if its log cannot be measured. */
  measure(): void {
    try {
      this.#measure(this.#logState.get())
    } catch {
      // the next write meets the same disk
    }
  }

  checkpoint(): void {
    this.#faults?.pass('storage.checkpoint')
    this.#measure(this.#checkpoint.get())
    this.checkpoints += 1
  }

  /**
   * After a failed commit. The log may hold all of it, and the next recovery of the log would bring it back. A commit of
   * our own takes its place. That is so even if this one throws, on a disk that takes writes and fails at syncs.
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
 * The writing connection over the whole life of the thread: opened when it is needed, and again after each failure. Nothing
 * is written over a log that may still hold what a failed commit left there.
 */
class Recovering {
  readonly #open: () => Writer
  #writer: Writer | undefined
  #isLogClean: boolean
  #mustCheck = false
  #isDamaged = false

  constructor(open: () => Writer, isLogClean: boolean) {
    this.#open = open
    this.#isLogClean = isLogClean
  }

  /** As it is, open or not. */
  get current(): Writer | undefined {
    return this.#writer
  }

  get isLogClean(): boolean {
    return this.#isLogClean
  }

  /** Open, with a clean log, over a database that is sound. Throws the engine's error. */
  ready(): Writer {
    const writer = this.#clean()
    if (this.#mustCheck) this.#isDamaged = !writer.isSound()
    this.#mustCheck = false
    if (this.#isDamaged) throw Object.assign(new Error('the database is damaged'), { code: 'SQLITE_CORRUPT' })
    return writer
  }

  write(writer: Writer, block: ArrayBuffer): void {
    this.#isLogClean = false
    writer.apply(block)
    this.#isLogClean = true
  }

  /** After a failure, and before anybody is told: a crash after that must find a clean log. */
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
    const closing = this.#writer
    this.#writer = undefined
    closing?.close()
  }

  #clean(): Writer {
    this.#writer ??= this.#open()
    if (!this.#isLogClean) this.#writer.overwriteFailed()
    this.#isLogClean = true
    return this.#writer
  }
}

/** Serves one group a message: answers, then tends to the log. */
function serve(port: NonNullable<typeof parentPort>, { path, faults: shared, logGoalBytes, logLimitBytes, recover }: WriterData): void {
  const faults = shared === undefined ? undefined : new StorageFaults(shared)
  const recovering = new Recovering(() => new Writer(path, faults), !recover)
  /** Grows while a reader elsewhere stops checkpoints from finishing, so that they are not tried after each group. */
  let goalBytes = logGoalBytes

  const attempt = (work: (writer: Writer) => void) => {
    try {
      work(recovering.ready())
      reply({})
    } catch (cause) {
      const failed = engineCode(cause)
      recovering.failed(failed)
      retry.refresh()
      reply({ failed, message: cause instanceof Error ? cause.message : '' })
    }
  }

  const reply = (outcome: Pick<WriterReply, 'failed' | 'message'>) => {
    const { logBytes = 0, checkpoints = 0 } = recovering.current ?? {}
    port.postMessage({ ...outcome, logBytes, checkpoints } satisfies WriterReply)
  }

  const tendLog = (goal: number) => {
    const writer = recovering.current
    if (writer === undefined || writer.pendingBytes <= goal) return
    try {
      writer.checkpoint()
    } catch {
      // the log is intact and the next goal tries again
    }
    goalBytes = writer.pendingBytes + logGoalBytes
  }
  const idle = setTimeout(() => tendLog(idleGoalBytes), idleCheckpointMs)
  const retry = setTimeout(() => {
    if (recovering.isLogClean) return
    recovering.tryClean()
    retry.refresh()
  }, retryMs)

  port.on('message', (message: ArrayBuffer | 'close') => {
    if (message === 'close') {
      clearTimeout(idle)
      clearTimeout(retry)
      recovering.close()
      port.close()
      return
    }
    attempt((current) => {
      if (current.logBytes > logLimitBytes) current.checkpoint()
      if (current.logBytes > logLimitBytes && current.pendingBytes > 0) throw Object.assign(new Error('the log is full'), { code: 'SQLITE_FULL' })
      recovering.write(current, message)
      current.measure()
    })
    tendLog(goalBytes)
    idle.refresh()
  })
  attempt(() => {})
}

// the one place that starts this file hands in WriterData
if (parentPort !== null) serve(parentPort, workerData as WriterData)
