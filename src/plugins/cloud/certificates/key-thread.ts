import { createPrivateKey, type KeyObject } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import { busyPace } from '../../../lib/busy-pace.ts'
import { Limiter } from '../../../lib/limiter.ts'

/** A key takes a tenth of a second of a processor, and its certificate needs the event loop. */
const pace = busyPace({ timesWork: 1, longestMs: 1000 })

/**
 * A thread that makes RSA keys (key-worker.ts), one after the other. It starts with the first key and yields to
 * all other work.
 */
class KeyThread {
  readonly #turns = new Limiter(1)
  #worker: Worker | undefined

  async make(): Promise<KeyObject> {
    const leave = await this.#turns.enter()
    const ended = pace()
    try {
      return await this.#makeNow()
    } finally {
      setTimeout(leave, ended()).unref()
    }
  }

  async #makeNow(): Promise<KeyObject> {
    const worker = this.#worker ?? this.#start()
    this.#worker = worker
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
    const ended = () => reject(new Error('the thread that makes keys ended'))
    worker.once('message', resolve).once('error', reject).once('exit', ended)
    try {
      worker.postMessage(undefined)
      const bytes = Buffer.from(await promise)
      return createPrivateKey({ key: bytes, format: 'der', type: 'pkcs8' })
    } finally {
      worker.off('message', resolve).off('error', reject).off('exit', ended)
    }
  }

  #start(): Worker {
    const worker = new Worker(new URL('./key-worker.ts', import.meta.url), { name: 'keys' })
    worker.unref()
    // a failure is that of the key; the next one starts another thread
    worker.on('error', () => {})
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = undefined
    })
    return worker
  }
}

/** The servers of a process share it. */
const thread = new KeyThread()

/** Makes an RSA key of 2048 bits. */
export const makeKey = (): Promise<KeyObject> => thread.make()
