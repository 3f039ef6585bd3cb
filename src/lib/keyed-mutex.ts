/**
 * Runs work with the same key one at a time, in order of arrival, so that conflicting writes wait instead of
 * failing and retrying. Keys without work take no memory.
 */
export class KeyedMutex {
  readonly #lastByKey = new Map<string, Promise<unknown>>()

  /** Runs `work` after all earlier work with this key has settled, and returns its result. */
  async runExclusive<T>(key: string, work: () => Promise<T>): Promise<T> {
    const previous = this.#lastByKey.get(key)
    const result = previous === undefined ? work() : previous.then(work)
    const end = result.catch(() => undefined)
    this.#lastByKey.set(key, end)
    try {
      return await result
    } finally {
      if (this.#lastByKey.get(key) === end) this.#lastByKey.delete(key)
    }
  }

  /** Settles with the work that is pending for this key; undefined if there is none. */
  pending(key: string): Promise<unknown> | undefined {
    return this.#lastByKey.get(key)
  }
}
