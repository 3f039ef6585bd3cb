import { wait } from '../../lib/concurrency/wait.ts'
import type { BackgroundJob } from './jobs.ts'

/** When periodic work runs, and who hears of its failures. */
export type Timing = {
  /** The timer runs only while this server holds this job. Absent: each server runs its own timer. */
  readonly job?: BackgroundJob
  /** Pause before each run. */
  readonly intervalMs: number
  /** Called when a run rejects; the next run tries again. */
  onError(error: unknown): void
}

type PeriodicParts<Result> = Timing & {
  /** Does the due work; returns early if `stopping` is aborted. */
  run(stopping: AbortSignal): Promise<Result>
}

/** Runs work periodically once started. Disposing stops it and waits for the run in progress. */
export class Periodic<Result = void> implements AsyncDisposable {
  readonly #parts: PeriodicParts<Result>
  readonly #stopping = new AbortController()
  #repeating: Promise<void> | undefined
  #running: Promise<Result | undefined> | undefined

  constructor(parts: PeriodicParts<Result>) {
    this.#parts = parts
  }

  start(): void {
    if (this.#stopping.signal.aborted) return
    const { job } = this.#parts
    if (job === undefined) this.#repeating = this.#repeat(this.#stopping.signal)
    else job.begin(({ ended }) => this.#repeat(AbortSignal.any([ended, this.#stopping.signal])))
  }

  /** Runs now, or joins the run in progress. Never rejects: after a failure it resolves to undefined. */
  run(): Promise<Result | undefined> {
    return this.#runUntil(this.#stopping.signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    await this.#running
    await this.#repeating
  }

  async #repeat(ended: AbortSignal): Promise<void> {
    for (;;) {
      await wait(this.#parts.intervalMs, ended)
      if (ended.aborted) return
      await this.#runUntil(ended)
    }
  }

  #runUntil(ended: AbortSignal): Promise<Result | undefined> {
    this.#running ??= this.#run(ended).finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #run(ended: AbortSignal): Promise<Result | undefined> {
    const { job, run, onError } = this.#parts
    try {
      const result = await run(ended)
      job?.ran('ok')
      return result
    } catch (error) {
      job?.ran('failed')
      // the refused write of a server that has lost the job is expected
      if (!ended.aborted || this.#stopping.signal.aborted) onError(error)
      return undefined
    }
  }
}
