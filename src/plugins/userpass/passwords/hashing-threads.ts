import { Worker } from 'node:worker_threads'
import type { Argon2Cost } from './argon2.ts'
import type { HashingReply, HashingTask, Matches } from './hashing-worker.ts'

/** A thread, and the reply that somebody waits for. */
type Thread = { readonly worker: Worker; settle: ((reply: HashingReply) => void) | undefined }

/**
 * Threads that compute hashes (hashing-worker.ts). Each task takes one that is idle, and starts one if all are
 * busy: whoever calls it limits their number. They yield to all other work.
 */
class HashingThreads {
  readonly #idle: Thread[] = []

  async run(task: HashingTask): Promise<string | Matches> {
    const thread = this.#idle.pop() ?? this.#start()
    const reply = await new Promise<HashingReply>((resolve) => {
      thread.settle = resolve
      thread.worker.postMessage(task)
    })
    if ('failure' in reply) throw new Error(`a hash could not be computed: ${reply.failure}`)
    return reply.result
  }

  #start(): Thread {
    const worker = new Worker(new URL('./hashing-worker.ts', import.meta.url), { name: 'passwords' })
    const thread: Thread = { worker, settle: undefined }
    worker.on('message', (reply: HashingReply) => {
      this.#idle.push(thread)
      thread.settle?.(reply)
    })
    // after the listener, which would keep the process again
    worker.unref()
    const ended = (failure: string) => {
      const at = this.#idle.indexOf(thread)
      if (at >= 0) this.#idle.splice(at, 1)
      thread.settle?.({ failure })
    }
    worker.on('error', (error) => ended(String(error)))
    worker.on('exit', () => ended('the thread ended'))
    return thread
  }
}

/** The servers of a process share them. */
const threads = new HashingThreads()

/** The hash of a password as PHC string. */
export async function hashOf(password: Uint8Array, salt: Uint8Array, cost: Argon2Cost): Promise<string> {
  return (await threads.run({ password, salt, cost })) as string
}

/** Whether a password has a hash of this product, or an imported one; the work is the same in any case. */
export async function matchesOf(
  password: Uint8Array,
  hashes: { own: string; imported: string | undefined; bcryptCost: number },
): Promise<Matches> {
  return (await threads.run({ password, ...hashes })) as Matches
}
