/**
 * Runs work on the same key one after the other, in order of arrival. It saves conditional writes the retries
 * that concurrent changes to one record would cost. Keeps a key only while there is work on it.
 */
export class KeyedMutex {
  readonly #lastByKey = new Map<string, Promise<unknown>>()

  /** Runs `work` once all earlier work on `key` has ended, successfully or not. */
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

  /** Settles when the current work on `key` ends; undefined if there is none. */
  workOn(key: string): Promise<unknown> | undefined {
    return this.#lastByKey.get(key)
  }
}
