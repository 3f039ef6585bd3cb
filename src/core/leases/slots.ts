/** So many pieces of work at once; who waits is served in the order of asking. */
export class Slots {
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(count: number) {
    this.#free = count
  }

  get free(): number {
    return this.#free
  }

  /** Resolves when a slot is the caller's, who has to `give` it back. */
  take(): Promise<void> {
    if (this.#free === 0) return new Promise((resolve) => this.#waiting.push(resolve))
    this.#free -= 1
    return Promise.resolve()
  }

  give(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free += 1
    else next()
  }
}
