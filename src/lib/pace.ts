export type PaceLimits = {
  /** How many go at once. */
  readonly burst: number
  /** Then one in this time. */
  readonly everyMs: number
  /** Nobody waits longer, however many there are. */
  readonly longestMs: number
}

/** Spreads what comes too fast over time. */
export class Pace {
  readonly #limits: PaceLimits
  #nextAt = Number.NEGATIVE_INFINITY

  constructor(limits: PaceLimits) {
    this.#limits = limits
  }

  /** How many milliseconds the next one has to wait. `now` is steady time. */
  delayOf(now: number): number {
    const { burst, everyMs, longestMs } = this.#limits
    const at = Math.min(Math.max(now, this.#nextAt), now + burst * everyMs + longestMs)
    this.#nextAt = at + everyMs
    return Math.max(0, at - now - (burst - 1) * everyMs)
  }
}
