import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { mayBlock } from '../../lib/end-process.ts'
import type { WorkerData, WorkerReply, WorkerRequest } from './device-worker.ts'

/** `code` of a request whose thread ended before it answered. */
const threadLost = 'THREAD_LOST'

/** Starts the thread of a device (device-worker.ts) and sends it one request at a time. */
export class DeviceThread {
  #data: WorkerData
  #worker: Worker | undefined
  #answer: ((reply: WorkerReply) => void) | undefined
  #isStopped = false

  constructor(data: WorkerData) {
    this.#data = data
  }

  /** Never rejects. Call it again only after it has resolved. */
  ask(request: WorkerRequest): Promise<WorkerReply> {
    if (this.#isStopped) return Promise.resolve(lost('the thread was stopped'))
    const worker = this.#worker ?? this.#start()
    return new Promise((resolve) => {
      this.#answer = (reply) => {
        this.#answer = undefined
        // a thread that has to be replaced continues from here
        if (reply.head !== undefined)
          this.#data = { ...this.#data, stored: { ...reply.head, isFinal: false } }
        resolve(reply)
      }
      worker.postMessage(request)
    })
  }

  /** Resolves when the thread has ended, or after `withinMs` if a system call blocks it. */
  async stop(withinMs: number): Promise<void> {
    this.#isStopped = true
    const limit = new AbortController()
    const { signal } = limit
    const late = pause(withinMs, undefined, { signal }).catch(() => undefined)
    await Promise.race([this.#worker?.terminate(), late])
    limit.abort()
  }

  #start(): Worker {
    const worker = new Worker(new URL('./device-worker.ts', import.meta.url), {
      workerData: this.#data,
      name: 'audit',
    })
    this.#worker = worker
    mayBlock(worker)
    worker.unref()
    worker.on('message', (reply: WorkerReply) => this.#answer?.(reply))
    worker.on('error', (cause: Error) => this.#ended(worker, cause.message))
    worker.on('exit', () => this.#ended(worker, 'the thread ended'))
    return worker
  }

  #ended(worker: Worker, message: string): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    this.#answer?.(lost(message))
  }
}

const lost = (message: string): WorkerReply => ({
  written: 0,
  checkpoint: undefined,
  head: undefined,
  failure: { code: threadLost, message },
})
