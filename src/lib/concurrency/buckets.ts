import type { Clock } from '../system/clock.ts'

/** A bucket holds `capacity` tokens and gains one every `refillMs`. */
export type BucketSize = { readonly capacity: number; readonly refillMs: number }

const pruneAbove = 1000

/** Token buckets by key: limit a rate, but allow bursts. */
export class Buckets {
  readonly #levels = new Map<string, { tokens: number; at: number }>()
  readonly #clock: Clock
  readonly #size: BucketSize
  #pruneAt = pruneAbove

  constructor(clock: Clock, size: BucketSize) {
    this.#clock = clock
    this.#size = size
  }

  /** Takes a token. Returns false if there is none. */
  take(key: string): boolean {
    const now = this.#clock.now()
    if (this.#levels.size > this.#pruneAt) this.#dropFull(now)
    const tokens = this.#tokensOf(key, now)
    const allowed = tokens >= 1
    this.#levels.set(key, { tokens: allowed ? tokens - 1 : tokens, at: now })
    return allowed
  }

  /** Whether `take` would succeed. */
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

  /** Drops full buckets, which equal new ones. If many remain, the next pass waits for twice as many. */
  #dropFull(now: number): void {
    for (const key of this.#levels.keys())
      if (this.#tokensOf(key, now) >= this.#size.capacity) this.#levels.delete(key)
    this.#pruneAt = Math.max(pruneAbove, 2 * this.#levels.size)
  }
}
