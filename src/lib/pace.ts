export type PaceLimits = {
  /** How many go at once. */
  readonly burst: number
  /** Then one in this time. */
  readonly everyMs: number
  /** Those that wait go in groups of so many. */
  readonly together: number
  /** Nobody waits longer, but for the rest of the group, however many there are. */
  readonly longestMs: number
}

/**
 * Spreads what comes too fast over time. A turn of the event loop costs more than what is done in it, so those that
 * wait share turns.
 */
export class Pace {
  readonly #limits: PaceLimits
  #nextAt = Number.NEGATIVE_INFINITY
  #last: { readonly group: number; readonly turn: Promise<void> } | undefined

  constructor(limits: PaceLimits) {
    this.#limits = limits
  }

  /** Undefined for one that goes at once. `now` is steady time. */
  turn(now: number): Promise<void> | undefined {
    const { burst, everyMs, together, longestMs } = this.#limits
    const at = Math.min(Math.max(now, this.#nextAt), now + burst * everyMs + longestMs)
    this.#nextAt = at + everyMs
    const dueAt = at - (burst - 1) * everyMs
    return dueAt <= now ? undefined : this.#turnOf(Math.ceil(dueAt / (together * everyMs)), now)
  }

  #turnOf(group: number, now: number): Promise<void> {
    if (this.#last?.group !== group) {
      const { everyMs, together } = this.#limits
      const inMs = group * together * everyMs - now
      this.#last = { group, turn: new Promise((resolve) => setTimeout(resolve, inMs)) }
    }
    return this.#last.turn
  }
}
