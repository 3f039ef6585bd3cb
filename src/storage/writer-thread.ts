import { Worker } from 'node:worker_threads'
import { mayBlock } from '../lib/end-process.ts'
import { inTurns } from '../lib/in-turns.ts'
import type { RowWrite } from './group.ts'
import type { LogState } from './log-keeper.ts'
import type { WriterData, WriterReply } from './sqlite-writer.ts'
import { storageError } from './storage-error.ts'
import { packRows } from './write-pack.ts'

/** `reason` of a rejected group whose thread ended before it answered. The group may have been written. */
export const threadLost = 'THREAD_LOST'

type PendingAnswer = { resolve(): void; reject(cause: unknown): void }

/**
 * Starts the writing thread (sqlite-writer.ts) and sends it one group at a time. Replaces a thread that ended
 * when the next group needs one.
 */
export class WriterThread implements AsyncDisposable {
  /** The last reported state. */
  log: LogState = { logBytes: 0, checkpoints: 0, failedCheckpoints: 0, checkpointFailure: undefined }
  readonly #data: Omit<WriterData, 'recover'>
  readonly #onLog: (log: LogState) => void
  #worker: Worker | undefined
  /** Pending answers in order: that of the thread's start, then that of its group. */
  #pending: PendingAnswer[] = []
  #started: Promise<void> | undefined
  #hasLostThread = false

  constructor(data: Omit<WriterData, 'recover'>, onLog: (log: LogState) => void) {
    this.#data = data
    this.#onLog = onLog
  }

  /** Resolves when the thread has opened the database. */
  ready(): Promise<void> {
    this.#started ??= this.#start()
    return this.#started
  }

  /** All or nothing; rejects with a ServiceError `unavailable`. */
  async commit(rows: readonly RowWrite[]): Promise<void> {
    const packed = await inTurns(packRows(rows))
    if (this.#worker === undefined) await this.ready()
    return this.#request((worker) => worker.postMessage(packed, [packed]))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const worker = this.#worker
    if (worker === undefined) return
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    worker.postMessage('close')
    await ended
  }

  #start(): Promise<void> {
    const worker = new Worker(new URL('./sqlite-writer.ts', import.meta.url), {
      workerData: { ...this.#data, recover: this.#hasLostThread } satisfies WriterData,
      name: 'storage',
    })
    this.#worker = worker
    mayBlock(worker)
    worker.on('message', (reply: WriterReply) => this.#receive(reply))
    worker.on('error', (cause) => this.#threadEnded(worker, cause))
    worker.on('exit', () => this.#threadEnded(worker, undefined))
    return this.#request(() => {})
  }

  #request(send: (worker: Worker) => void): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      if (this.#worker === undefined) {
        reject(storageError(threadLost))
        return
      }
      this.#pending.push({ resolve, reject })
      send(this.#worker)
    })
  }

  #receive({ log, answer }: WriterReply): void {
    this.log = log
    this.#onLog(log)
    if (answer === undefined) return
    const pending = this.#pending.shift()
    if (answer.failed === undefined) pending?.resolve()
    else pending?.reject(storageError(answer.failed, new Error(answer.message)))
  }

  #threadEnded(worker: Worker, cause: unknown): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    this.#started = undefined
    this.#hasLostThread = true
    for (const answer of this.#pending.splice(0)) answer.reject(storageError(threadLost, cause))
  }
}
