import type { Clock } from './clock.ts'

/** How much a bucket holds, and how often one more comes. */
export type BucketSize = { readonly capacity: number; readonly refillMs: number }

const pruneAbove = 1000

/** A bucket for each key: what is counted may happen so many times at once, then once more every while. */
export class Buckets {
  readonly #levels = new Map<string, { tokens: number; at: number }>()
  readonly #clock: Clock
  readonly #size: BucketSize
  #pruneAt = pruneAbove

  constructor(clock: Clock, size: BucketSize) {
    this.#clock = clock
    this.#size = size
  }

  /** True if it may happen now; it is then counted. */
  take(key: string): boolean {
    const now = this.#clock.now()
    if (this.#levels.size > this.#pruneAt) this.#dropFull(now)
    const tokens = this.#tokensOf(key, now)
    const allowed = tokens >= 1
    this.#levels.set(key, { tokens: allowed ? tokens - 1 : tokens, at: now })
    return allowed
  }

  /** As `take`, with nothing counted. */
  holds(key: string): boolean {
    return this.#tokensOf(key, this.#clock.now()) >= 1
  }

  #tokensOf(key: string, now: number): number {
    const { capacity, refillMs } = this.#size
    const level = this.#levels.get(key)
    return level === undefined
      ? capacity
      : Math.min(capacity, level.tokens + Math.max(0, now - level.at) / refillMs)
  }

  /**
   * A full bucket is as good as none. Where many are not, it is not looked for again before there are twice
   * as many.
   */
  #dropFull(now: number): void {
    for (const key of this.#levels.keys())
      if (this.#tokensOf(key, now) >= this.#size.capacity) this.#levels.delete(key)
    this.#pruneAt = Math.max(pruneAbove, 2 * this.#levels.size)
  }
}
