import { Thread } from '../../lib/concurrency/thread.ts'
import type { RowWrite } from '../group.ts'
import { storageError } from '../storage-error.ts'
import { packRows } from '../write-pack.ts'
import type { LogState } from './log-keeper.ts'
import type { WriterAnswers, WriterData, WriterNews, WriterReply } from './sqlite-writer.ts'

/** `reason` of a rejected group whose thread ended before it answered. The group may have been written. */
export const threadLost = 'THREAD_LOST'

/** The writing thread (sqlite-writer.ts), which commits one group at a time. */
export class WriterThread implements AsyncDisposable {
  log: LogState = { logBytes: 0, checkpoints: 0, failedCheckpoints: 0, checkpointFailure: undefined }
  readonly #onLog: (log: LogState) => void
  readonly #thread: Thread<WriterAnswers>
  #hasLostThread = false

  constructor(data: Omit<WriterData, 'recover'>, onLog: (log: LogState) => void) {
    this.#onLog = onLog
    const news: WriterNews = { log: (log) => this.#noteLog(log) }
    this.#thread = new Thread({
      program: new URL('./sqlite-writer.ts', import.meta.url),
      name: 'storage',
      mayBlock: true,
      data: (): WriterData => ({ ...data, recover: this.#hasLostThread }),
      answers: news,
    })
  }

  ready(): Promise<void> {
    return this.#outcome(this.#thread.ask('open'))
  }

  /** All or nothing; rejects with a ServiceError `unavailable`. */
  async commit(rows: readonly RowWrite[]): Promise<void> {
    const packed = await packRows(rows)
    await this.#outcome(this.#thread.ask('commit', packed))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread.stop()
  }

  async #outcome(answer: Promise<WriterReply>): Promise<void> {
    const { log, failed, message } = await answer.catch((cause: unknown) => {
      this.#hasLostThread = true
      throw storageError(threadLost, cause)
    })
    this.#noteLog(log)
    if (failed !== undefined) throw storageError(failed, new Error(message))
  }

  #noteLog(log: LogState): void {
    this.log = log
    this.#onLog(log)
  }
}
