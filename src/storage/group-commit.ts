import { ServiceError } from '../errors.ts'
import {
  type Decided,
  decide,
  type GroupSource,
  type RowWrite,
  type Step,
  type Waiting,
  waitingStep,
} from './group.ts'

/** The engine: reads see only committed rows; `commit` is atomic and resolves once durable. */
export type CommitEngine = Omit<GroupSource, 'nextRevision'> & {
  commit(rows: readonly RowWrite[]): Promise<void>
  /** Called for each durable group. */
  onCommit(steps: number, seconds: number): void
  /** The greatest revision ever assigned. */
  readonly lastRevision: number
}

export type CommitStats = { commits: number; failedCommits: number; steps: number }

/**
 * Groups steps into commits, one at a time: steps that arrive during a commit share the next one. Each step
 * sees durable state plus the writes of its own group, and resolves only when the group is durable. A group
 * succeeds or fails as a whole, except for steps that throw.
 */
export class GroupCommit {
  readonly stats: CommitStats = { commits: 0, failedCommits: 0, steps: 0 }
  readonly #engine: CommitEngine
  #waiting: Waiting[] = []
  #revision: number
  #running = false
  #closed = false
  #whenIdle: (() => void)[] = []

  constructor(engine: CommitEngine) {
    this.#engine = engine
    this.#revision = engine.lastRevision
  }

  run<T>(step: Step<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new ServiceError('unavailable', 'storage is unavailable'))
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push(waitingStep(step, resolve, reject))
      this.#wake()
    })
  }

  /** Refuses new steps and waits for pending ones. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#running) await new Promise<void>((resolve) => this.#whenIdle.push(resolve))
  }

  /** Starts the group after the current turn of the event loop, so that all steps of one turn share it. */
  #wake(): void {
    if (this.#running) return
    this.#running = true
    setImmediate(() => this.#commitNext())
  }

  #commitNext(): void {
    const deciding = decide(this.#waiting, {
      ...this.#engine,
      nextRevision: () => {
        this.#revision += 1
        return this.#revision
      },
    })
    // steps that arrive meanwhile join this group or wait for the next one
    void deciding.then((decided) => this.#commit(decided))
  }

  #commit({ taken, succeeded: decided, failed, rows }: Decided): void {
    this.#waiting = taken === this.#waiting.length ? [] : this.#waiting.slice(taken)
    for (const { waiting, cause } of failed) waiting.reject(cause)
    if (rows.length === 0) {
      for (const step of decided) step.settle()
      setImmediate(() => this.#next())
      return
    }
    const started = performance.now()
    this.#engine.commit(rows).then(
      () => {
        this.stats.commits += 1
        this.stats.steps += decided.length
        this.#engine.onCommit(decided.length, (performance.now() - started) / 1000)
        // the disk must not wait for the responses of this group
        this.#next()
        for (const step of decided) step.settle()
      },
      (cause) => {
        this.stats.failedCommits += 1
        for (const step of decided) step.reject(cause)
        this.#next()
      },
    )
  }

  #next(): void {
    if (this.#waiting.length > 0) {
      this.#commitNext()
      return
    }
    this.#running = false
    for (const resolve of this.#whenIdle.splice(0)) resolve()
  }
}
