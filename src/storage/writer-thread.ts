import { Worker } from 'node:worker_threads'
import type { RowWrite } from './group-commit.ts'
import type { LogState } from './log-keeper.ts'
import type { WriterData, WriterReply } from './sqlite-writer.ts'
import { storageError } from './storage-error.ts'
import { packRows } from './write-pack.ts'

/** `reason` of a rejected group whose thread ended before it answered: it may have been written. */
export const threadLost = 'THREAD_LOST'

type Answer = { resolve(): void; reject(cause: unknown): void }

/**
 * The thread that writes (sqlite-writer.ts), seen from the other side. One group at a time. A thread that
 * ended is replaced when it is needed.
 */
export class WriterThread implements AsyncDisposable {
  /** As it was last told. */
  log: LogState = { logBytes: 0, checkpoints: 0, failedCheckpoints: 0, checkpointFailure: undefined }
  readonly #data: Omit<WriterData, 'recover'>
  readonly #onLog: (log: LogState) => void
  #worker: Worker | undefined
  /** Who waits for the next answers, in order: the start of a thread, then its group. */
  #awaited: Answer[] = []
  #started: Promise<void> | undefined
  #hasLostOne = false

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
    if (this.#worker === undefined) await this.ready()
    const packed = packRows(rows)
    return this.#ask((worker) => worker.postMessage(packed, [packed]))
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
      workerData: { ...this.#data, recover: this.#hasLostOne } satisfies WriterData,
      name: 'storage',
    })
    this.#worker = worker
    worker.on('message', (reply: WriterReply) => this.#take(reply))
    worker.on('error', (cause) => this.#lost(worker, cause))
    worker.on('exit', () => this.#lost(worker, undefined))
    return this.#ask(() => {})
  }

  #ask(send: (worker: Worker) => void): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      if (this.#worker === undefined) {
        reject(storageError(threadLost))
        return
      }
      this.#awaited.push({ resolve, reject })
      send(this.#worker)
    })
  }

  #take({ log, answer }: WriterReply): void {
    this.log = log
    this.#onLog(log)
    if (answer === undefined) return
    const waiting = this.#awaited.shift()
    if (answer.failed === undefined) waiting?.resolve()
    else waiting?.reject(storageError(answer.failed, new Error(answer.message)))
  }

  #lost(worker: Worker, cause: unknown): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    this.#started = undefined
    this.#hasLostOne = true
    for (const answer of this.#awaited.splice(0)) answer.reject(storageError(threadLost, cause))
  }
}
