export type Job<Result> = {
  /** Pause after each run. */
  readonly intervalMs: number
  /** Does the due work; returns early if `stopping` is aborted. */
  run(stopping: AbortSignal): Promise<Result>
  /** Called when a run rejects; the next run tries again. */
  onError(error: unknown): void
}

/** Runs a job periodically once started. Disposing stops it and waits for the run in progress. */
export class Periodic<Result = void> implements AsyncDisposable {
  readonly #job: Job<Result>
  readonly #stopping = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<Result | undefined> | undefined

  constructor(job: Job<Result>) {
    this.#job = job
  }

  start(): void {
    if (this.#stopping.signal.aborted) return
    // the timer must not keep the process alive
    this.#timer = setTimeout(() => void this.run().finally(() => this.start()), this.#job.intervalMs).unref()
  }

  /**
   * Runs the job now, or joins the run in progress. Never rejects: after a failure it resolves to undefined.
   */
  run(): Promise<Result | undefined> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    clearTimeout(this.#timer)
    await this.#running
  }

  async #run(): Promise<Result | undefined> {
    try {
      return await this.#job.run(this.#stopping.signal)
    } catch (error) {
      this.#job.onError(error)
      return undefined
    }
  }
}
