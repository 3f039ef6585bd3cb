/** Runs one piece of work at a time. Callers that wait share the next run, which begins after their calls. */
export class NextRun {
  readonly #work: () => Promise<void>
  #running: Promise<unknown> = Promise.resolve()
  #next: Promise<void> | undefined

  constructor(work: () => Promise<void>) {
    this.#work = work
  }

  run(): Promise<void> {
    this.#next ??= this.#after(this.#running)
    return this.#next
  }

  async #after(running: Promise<unknown>): Promise<void> {
    await running
    const next = this.#work()
    this.#running = next.catch(() => {})
    this.#next = undefined
    return await next
  }
}
