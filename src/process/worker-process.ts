import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Channel } from '../lib/concurrency/channel.ts'
import { LineSplitter } from '../lib/text/line-splitter.ts'
import { type Log, relayLine } from '../log/log.ts'
import type { Orders, StartFailure, SupervisorAnswers, WorkerAnswers } from './worker-questions.ts'

export type WorkerParts = {
  /** Its name as a replica. */
  readonly name: string
  readonly log: Log
  readonly answers: Pick<SupervisorAnswers, 'opened' | 'metrics'>
  /** What the process needs. Called before each start. */
  orders(): Orders
  onServing(): void
  /** The worker cannot start, and is not started again. */
  onFailed(failure: StartFailure): void
}

const program = fileURLToPath(new URL('./worker-main.ts', import.meta.url))
/** Descriptor 3 is the connection to this process. */
const firstFreeDescriptor = 4
/** Pauses before restarts double from the first to the longest. */
const firstPauseMs = 100
const longestPauseMs = 10_000
/** A process that has run for this long is started again after the first pause. */
const soundMs = 60_000
const longestLineBytes = 1 << 20
const failedFirst: StartFailure = {
  exitCode: 1,
  message: 'the first worker process ended before it served requests',
}
const answerMs = 3000

/** A process that serves requests. It is started again when it crashes. */
export class WorkerProcess {
  readonly name: string
  restarts = 0
  readonly #parts: WorkerParts
  readonly #ended = Promise.withResolvers<number>()
  #process: { readonly child: ChildProcess; readonly channel: Channel<WorkerAnswers> } | undefined
  #failure: StartFailure | undefined
  #isServing = false
  #isStopping = false
  #pauseMs = firstPauseMs
  #pause: NodeJS.Timeout | undefined

  constructor(parts: WorkerParts) {
    this.#parts = parts
    this.name = parts.name
  }

  get isServing(): boolean {
    return this.#isServing
  }

  /** Undefined while there is no process. */
  get channel(): Channel<WorkerAnswers> | undefined {
    return this.#process?.channel
  }

  start(): void {
    const orders = this.#parts.orders()
    const startedAt = performance.now()
    const child = fork(program, {
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'pipe', 'ipc', ...orders.doors.map(({ descriptor }) => descriptor)],
    })
    this.#process = { child, channel: this.#channelTo(child, orders) }
    this.#relayLog(child)
    const ended = (code: number | null) => this.#hasEnded(code, orders, performance.now() - startedAt)
    // without a process there is no `close`
    child.once('error', () => child.pid === undefined && ended(null))
    child.once('close', ended)
  }

  /** Lets the process finish its requests. Resolves with its exit code. */
  stop(): Promise<number> {
    this.#isStopping = true
    clearTimeout(this.#pause)
    if (this.#process === undefined) this.#ended.resolve(0)
    else this.#process.channel.tell('stop')
    return this.#ended.promise
  }

  signal(name: NodeJS.Signals): void {
    this.#process?.child.kill(name)
  }

  #channelTo(child: ChildProcess, orders: Orders): Channel<WorkerAnswers> {
    const answers: SupervisorAnswers = {
      ...this.#parts.answers,
      orders: () => ({
        ...orders,
        doors: orders.doors.map((door, at) => ({ ...door, descriptor: firstFreeDescriptor + at })),
      }),
      serving: () => {
        this.#isServing = true
        this.#parts.onServing()
      },
      failed: (failure) => {
        this.#failure = failure
      },
    }
    return new Channel(child, answers, answerMs)
  }

  #relayLog({ stderr }: ChildProcess): void {
    const lines = new LineSplitter(longestLineBytes, (line) => {
      if (line !== undefined) relayLine(this.#parts.log, line.toString())
    })
    stderr?.on('data', (chunk: Buffer) => lines.add(chunk))
  }

  #hasEnded(code: number | null, { isFirst }: Orders, afterMs: number): void {
    const signal = this.#process?.child.signalCode
    const hasServed = this.#isServing
    this.#process = undefined
    this.#isServing = false
    const failure = this.#failure ?? (isFirst && !hasServed ? failedFirst : undefined)
    if (this.#isStopping) this.#ended.resolve(code ?? 1)
    else if (failure === undefined) this.#restart({ exit_code: code, signal }, afterMs)
    else {
      this.#isStopping = true
      this.#parts.onFailed(failure)
    }
  }

  #restart(end: object, afterMs: number): void {
    if (afterMs >= soundMs) this.#pauseMs = firstPauseMs
    const pauseMs = this.#pauseMs
    this.#pauseMs = Math.min(2 * pauseMs, longestPauseMs)
    this.#parts.log.error(
      { event: 'worker_crashed', worker: this.name, ...end, pause_ms: pauseMs },
      'a worker process has crashed, and will be started again',
    )
    this.#pause = setTimeout(() => {
      this.restarts += 1
      this.start()
    }, pauseMs)
  }
}
