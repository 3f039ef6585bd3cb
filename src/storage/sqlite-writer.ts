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
}

/** Its answers: one after opening, one a group. `failed` is the engine's code. */
export type WriterReply = { failed?: string; message?: string; logBytes: number; checkpoints: number }

type Log = { busy: number; log: number; checkpointed: number }

const idleCheckpointMs = 200
const idleGoalBytes = 256 * 1024
const keepLogFileBytes = 64 * 1024 * 1024

/** The connection that writes, and its log. */
class Writer {
  readonly #connection: Database.Database
  readonly #rows: RowWriter
  readonly #faults: StorageFaults | undefined
  readonly #logState: Database.Statement<[], Log>
  readonly #checkpoint: Database.Statement<[], Log>
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
    this.#measure(this.#logState.get())
  }

  apply(block: ArrayBuffer): void {
    this.#rows.apply(unpackRows(block))
    this.#measure(this.#logState.get())
  }

  checkpoint(): void {
    this.#faults?.pass('storage.checkpoint')
    this.#measure(this.#checkpoint.get())
    this.checkpoints += 1
  }

  /**
   * After a failed write: a small commit of our own takes the place of what the failed group left in the log, so that a later recovery of the log can
   * not bring that group back.
   */
  recover(after: string): void {
    const isDiskError = after.startsWith('SQLITE_IOERR') || after === 'SQLITE_CORRUPT'
    if (isDiskError && this.#connection.pragma('quick_check(1)', { simple: true }) !== 'ok') {
      throw Object.assign(new Error('the database is damaged'), { code: 'SQLITE_CORRUPT' })
    }
    this.#connection.exec("INSERT INTO meta (name, value) VALUES ('recoveries', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1")
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

/** Serves one group a message: opens anew after a failure, answers, then tends to the log. */
function serve(port: NonNullable<typeof parentPort>, { path, faults: shared, logGoalBytes, logLimitBytes }: WriterData): void {
  const faults = shared === undefined ? undefined : new StorageFaults(shared)
  let writer: Writer | undefined
  let failure: string | undefined
  /** Grows while a reader elsewhere stops checkpoints from finishing, so that they are not tried after each group. */
  let goalBytes = logGoalBytes

  const opened = (): Writer => {
    if (writer !== undefined) return writer
    const fresh = new Writer(path, faults)
    try {
      if (failure !== undefined) fresh.recover(failure)
    } catch (cause) {
      fresh.close()
      throw cause
    }
    writer = fresh
    failure = undefined
    return fresh
  }

  const attempt = (work: (writer: Writer) => void) => {
    try {
      work(opened())
      reply({})
    } catch (cause) {
      failure = engineCode(cause)
      writer?.close()
      writer = undefined
      reply({ failed: failure, message: cause instanceof Error ? cause.message : '' })
    }
  }

  const reply = (outcome: Pick<WriterReply, 'failed' | 'message'>) =>
    port.postMessage({ ...outcome, logBytes: writer?.logBytes ?? 0, checkpoints: writer?.checkpoints ?? 0 } satisfies WriterReply)

  const tendLog = (goal: number) => {
    if (writer === undefined || writer.pendingBytes <= goal) return
    try {
      writer.checkpoint()
    } catch {
      // the log is intact and the next goal tries again
    }
    goalBytes = writer.pendingBytes + logGoalBytes
  }
  const idle = setTimeout(() => tendLog(idleGoalBytes), idleCheckpointMs)

  port.on('message', (message: ArrayBuffer | 'close') => {
    if (message === 'close') {
      clearTimeout(idle)
      writer?.close()
      port.close()
      return
    }
    attempt((current) => {
      if (current.logBytes > logLimitBytes) current.checkpoint()
      if (current.logBytes > logLimitBytes && current.pendingBytes > 0) throw Object.assign(new Error('the log is full'), { code: 'SQLITE_FULL' })
      current.apply(message)
    })
    tendLog(goalBytes)
    idle.refresh()
  })
  attempt(() => {})
}

// the one place that starts this file hands in WriterData
if (parentPort !== null) serve(parentPort, workerData as WriterData)
