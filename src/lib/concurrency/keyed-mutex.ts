import type { WaitingBounds } from './limiter.ts'

/**
 * Runs work with the same key one at a time, in order of arrival, so that conflicting writes wait instead of
 * failing and retrying. Keys without work take no memory.
 */
export class KeyedMutex {
  readonly #lastByKey = new Map<string, Promise<unknown>>()
  /** How many wait within bounds. */
  readonly #waitingByKey = new Map<string, number>()

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

  /**
   * Like `runExclusive`, within bounds: throws their refusal if too many wait for this key, or if the lock is
   * not free in time; then `work` never runs.
   */
  async runWithin<T>({ most, ms, refusal }: WaitingBounds, key: string, work: () => Promise<T>): Promise<T> {
    const previous = this.#lastByKey.get(key)
    if (previous === undefined) return this.runExclusive(key, work)
    if (most !== undefined && (this.#waitingByKey.get(key) ?? 0) >= most) throw refusal()
    this.#countWaiting(key, 1)
    const tooLate = Promise.withResolvers<never>()
    const timer = ms === undefined ? undefined : setTimeout(() => tooLate.reject(refusal()), ms)
    const result = Promise.race([previous, tooLate.promise])
      .finally(() => {
        clearTimeout(timer)
        this.#countWaiting(key, -1)
      })
      .then(work)
    // whoever comes later waits for those before, also if this one has given up
    const end = Promise.allSettled([previous, result]).then(() => {
      if (this.#lastByKey.get(key) === end) this.#lastByKey.delete(key)
    })
    this.#lastByKey.set(key, end)
    return result
  }

  #countWaiting(key: string, change: number): void {
    const waiting = (this.#waitingByKey.get(key) ?? 0) + change
    if (waiting > 0) this.#waitingByKey.set(key, waiting)
    else this.#waitingByKey.delete(key)
  }

  /** Settles with the work that is pending for this key; undefined if there is none. */
  pending(key: string): Promise<unknown> | undefined {
    return this.#lastByKey.get(key)
  }
}
