/** The first gap between requests after a refusal, and the longest. */
const firstGapMs = 50
const longestGapMs = 2_000
/** Each answer shortens the gap a little, so that the pace finds the server's limit again. */
const easing = 0.97
/** However long a server asks to wait. */
const longestWishMs = 60_000
/** Without a wish, as OpenBao sends it unless it is configured to say how long. Doubled while nothing is answered. */
const firstPauseMs = 1_000
const longestPauseMs = 8_000

/**
 * How fast a server is asked, by all requests to it together. A server that limits the rate of requests (429) is asked
 * again after the time that it names, and more slowly from then on. Times are milliseconds. docs/import.md#speed
 */
export class Pace {
  #gapMs = 0
  #pauseMs = firstPauseMs
  #nextAt = 0
  /** Whether a request was answered since the last refusal. */
  #isAnswered = true

  /** Takes the next turn: how long its request has to wait. */
  turn(now: number): number {
    const at = Math.max(now, this.#nextAt)
    this.#nextAt = at + this.#gapMs
    return at - now
  }

  /** A request was refused because there were too many. `wishMs` is how long the server asks to wait; 0: it does not. */
  tooFast(now: number, wishMs: number): void {
    const until = now + (wishMs > 0 ? Math.min(wishMs, longestWishMs) : this.#pauseMs)
    // of requests that were under way together, one refusal counts
    if (until < this.#nextAt + this.#gapMs) return
    this.#nextAt = until
    if (this.#isAnswered) this.#gapMs = Math.min(Math.max(firstGapMs, 2 * this.#gapMs), longestGapMs)
    else this.#pauseMs = Math.min(2 * this.#pauseMs, longestPauseMs)
    this.#isAnswered = false
  }

  answered(): void {
    this.#isAnswered = true
    this.#pauseMs = firstPauseMs
    this.#gapMs = this.#gapMs < 1 ? 0 : this.#gapMs * easing
  }
}
