/**
 * Work on the same thing, one after the other in the order it was asked for: what would overtake each other
 * in storage and have to try again waits here instead. A key is remembered only while there is work on it.
 */
export class KeyedMutex {
  readonly #lastByKey = new Map<string, Promise<unknown>>()

  /**
   * Runs `work` when all work given before for `key` has ended, well or not; gives back what it gives back.
   */
  async take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#lastByKey.get(key)
    const turn = before === undefined ? work() : before.then(work)
    const end = turn.catch(() => undefined)
    this.#lastByKey.set(key, end)
    try {
      return await turn
    } finally {
      if (this.#lastByKey.get(key) === end) this.#lastByKey.delete(key)
    }
  }

  /** Ends with the work given for `key` so far; undefined when there is none. */
  workOn(key: string): Promise<unknown> | undefined {
    return this.#lastByKey.get(key)
  }
}
