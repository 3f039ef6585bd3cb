import { Worker } from 'node:worker_threads'
import { mayBlock } from '../system/end-process.ts'
import { type Answers, Channel, Disconnected, type Port } from './channel.ts'
import { within } from './within.ts'

/** What thread-worker.ts reads. */
export type ThreadData = { readonly niceness: number; readonly data: unknown }

export type ThreadOptions = {
  /** A file that calls `answerFromThread` (thread-worker.ts). */
  readonly program: URL
  readonly name: string
  /** How far it yields to other threads: `yieldToOthers`. */
  readonly niceness?: number
  /** The most threads that answer at the same time; 1 by default. */
  readonly most?: number
  /** What its values may take. A thread that needs more is ended. */
  readonly memoryMb?: number
  /** Limits of the questions that have no answer yet; none by default. */
  readonly limits?: {
    readonly most?: number
    /** A thread that takes longer is ended. */
    readonly ms: number
    /** The error beyond these limits. */
    refusal(): Error
  }
  /** What the program gets. Called before each start. */
  data?(): unknown
  readonly answers?: Answers
  /** Whether a system call may keep the thread for ever, as on a hung network disk. */
  readonly mayBlock?: boolean
}

type Running<Theirs extends Answers> = {
  readonly worker: Worker
  readonly channel: Channel<Theirs>
  pending: number
}

/**
 * A thread that answers questions, or several that share them. Each starts when it is first needed. If one ends, what
 * waits for it is rejected with a `Disconnected`, and the next question starts another. Only a question keeps the process.
 */
export class Thread<Theirs extends Answers> {
  readonly #options: ThreadOptions
  readonly #running = new Set<Running<Theirs>>()
  #isStopped = false

  constructor(options: ThreadOptions) {
    this.#options = options
  }

  /** An ArrayBuffer among the arguments moves to the thread. Rejects if the handler fails, or the thread ends. */
  async ask<Name extends string & keyof Theirs>(
    question: Name,
    ...args: Parameters<Theirs[Name]>
  ): Promise<Awaited<ReturnType<Theirs[Name]>>> {
    if (this.#isStopped) throw new Disconnected('the thread was stopped')
    const { limits } = this.#options
    if (limits?.most !== undefined && this.#pending >= limits.most) throw limits.refusal()
    const thread = this.#nextThread()
    const late = limits && setTimeout(() => this.#end(thread, limits.refusal()), limits.ms).unref()
    thread.pending += 1
    thread.worker.ref()
    try {
      return await thread.channel.ask(question, ...args)
    } finally {
      thread.pending -= 1
      if (thread.pending === 0) thread.worker.unref()
      clearTimeout(late)
    }
  }

  /** Resolves when the threads have answered what they were asked before and have ended, or after this time. */
  async stop(withinMs?: number): Promise<void> {
    this.#isStopped = true
    const ending = [...this.#running].map(async ({ worker, channel }) => {
      worker.ref()
      // each program understands it, and takes nothing with it
      await channel.ask('stop', ...([] as never)).catch(() => {})
      await worker.terminate()
    })
    const ended = Promise.all(ending)
    await (withinMs === undefined ? ended : within(withinMs, ended))
  }

  get #pending(): number {
    return [...this.#running].reduce((sum, { pending }) => sum + pending, 0)
  }

  #nextThread(): Running<Theirs> {
    const [idlest] = [...this.#running].toSorted((one, other) => one.pending - other.pending)
    const isFree = idlest?.pending === 0 || this.#running.size >= (this.#options.most ?? 1)
    return idlest !== undefined && isFree ? idlest : this.#start()
  }

  #start(): Running<Theirs> {
    const { program, name, niceness = 0, data, answers = {}, memoryMb, ...options } = this.#options
    const worker = new Worker(program, {
      name,
      workerData: { niceness, data: data?.() } satisfies ThreadData,
      ...(memoryMb !== undefined && { resourceLimits: { maxOldGenerationSizeMb: memoryMb } }),
    })
    const channel = new Channel<Theirs>(portOf(worker), answers)
    const thread = { worker, channel, pending: 0 }
    this.#running.add(thread)
    if (options.mayBlock === true) mayBlock(worker)
    worker.once('error', () => this.#running.delete(thread))
    worker.once('exit', () => this.#running.delete(thread))
    worker.once('messageerror', (cause) =>
      this.#end(thread, new Disconnected('unreadable answer', { cause })),
    )
    return thread
  }

  #end(thread: Running<Theirs>, cause: Error): void {
    this.#running.delete(thread)
    thread.channel.close(cause)
    void thread.worker.terminate()
  }
}

const portOf = (worker: Worker): Port => ({
  send: (message) => worker.postMessage(message, movedWith(message)),
  on: (event, listener) => worker.on(event, listener),
  once: (_, listener) => worker.once('error', listener).once('exit', () => listener()),
})

function movedWith(message: unknown): ArrayBuffer[] {
  const isQuestion = typeof message === 'object' && message !== null && 'args' in message
  return isQuestion && Array.isArray(message.args)
    ? message.args.filter((argument) => argument instanceof ArrayBuffer)
    : []
}
