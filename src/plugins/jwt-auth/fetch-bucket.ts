import type { Clock } from '../../lib/clock.ts'

const capacity = 10
const refillMs = 6000
const pruneAbove = 1000

/**
 * How often each key URL may be fetched because of what a caller sent: ten times at once, then one more every six seconds. One per process, shared
 * by all mounts. Contract README "JWKS refetch".
 */
export class FetchBuckets {
  readonly #levelByUrl = new Map<string, { tokens: number; at: number }>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** True if a fetch may be made now; it is then counted. */
  take(url: string): boolean {
    const now = this.#clock.now()
    if (this.#levelByUrl.size > pruneAbove) this.#dropFull(now)
    const tokens = this.#tokensOf(url, now)
    const allowed = tokens >= 1
    this.#levelByUrl.set(url, { tokens: allowed ? tokens - 1 : tokens, at: now })
    return allowed
  }

  #tokensOf(url: string, now: number): number {
    const level = this.#levelByUrl.get(url)
    return level === undefined ? capacity : Math.min(capacity, level.tokens + Math.max(0, now - level.at) / refillMs)
  }

  /** A full bucket is as good as none. */
  #dropFull(now: number): void {
    for (const url of this.#levelByUrl.keys()) if (this.#tokensOf(url, now) >= capacity) this.#levelByUrl.delete(url)
  }
}
