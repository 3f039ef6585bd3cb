import { Thread } from '../../lib/concurrency/thread.ts'
import type { DeviceAnswers, WorkerData, WorkerReply, WorkerRequest } from './device-worker.ts'

/** `code` of a request whose thread ended before it answered. */
const threadLost = 'THREAD_LOST'

/** The thread of a device (device-worker.ts). A thread that replaces another continues its chain. */
export class DeviceThread {
  readonly #thread: Thread<DeviceAnswers>
  #data: WorkerData

  constructor(data: WorkerData) {
    this.#data = data
    this.#thread = new Thread({
      program: new URL('./device-worker.ts', import.meta.url),
      name: 'audit',
      mayBlock: true,
      data: () => this.#data,
    })
  }

  /** Never rejects. Call it again only after it has resolved. */
  async ask(request: WorkerRequest): Promise<WorkerReply> {
    try {
      const reply = await this.#thread.ask('run', request)
      if (reply.head !== undefined) this.#data = { ...this.#data, stored: { ...reply.head, isFinal: false } }
      return reply
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : ''
      return { written: 0, checkpoint: undefined, head: undefined, failure: { code: threadLost, message } }
    }
  }

  /** Resolves when the thread has ended, or after `withinMs` if a system call blocks it. */
  stop(withinMs: number): Promise<void> {
    return this.#thread.stop(withinMs)
  }
}
