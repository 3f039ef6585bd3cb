import type { Quota } from './quota.ts'

/** The decision about one request. Times are in seconds, rounded up. */
export type Verdict = {
  readonly isAllowed: boolean
  readonly limit: number
  readonly remaining: number
  /** Until the client's interval ends. */
  readonly resetsIn: number
  /** Until the client may try again. */
  readonly retryIn: number
  /** The client exceeded the rate before, and is refused whatever it asks. */
  readonly isBlocked: boolean
}

type Window = { readonly start: number; count: number }

/** Most clients that one rule counts one by one; all others count as one client. */
const mostClients = 10_000
const theOthers = ''

/** Counts the requests of each client under one rule, in fixed intervals. */
export class ClientWindows {
  readonly #limit: number
  readonly #intervalMs: number
  readonly #blockMs: number
  /** In the order of their starts, so that the first ones end first. */
  readonly #windows = new Map<string, Window>()
  /** When a client was blocked, in that order. */
  readonly #blocked = new Map<string, number>()

  constructor({ rate, interval, blockInterval }: Pick<Quota, 'rate' | 'interval' | 'blockInterval'>) {
    this.#limit = Math.ceil(rate)
    this.#intervalMs = interval * 1000
    this.#blockMs = blockInterval * 1000
  }

  /** Number of clients that are counted or blocked. */
  get size(): number {
    return this.#windows.size + this.#blocked.size
  }

  /** Counts a request at `now`, in milliseconds. */
  take(address: string, now: number): Verdict {
    this.#dropEnded(now)
    const client = this.#isKnown(address) || this.size < mostClients ? address : theOthers
    const blockedAt = this.#blocked.get(client)
    if (blockedAt !== undefined)
      return { ...this.#verdict(0, now, blockedAt + this.#blockMs, false), isBlocked: true }
    let window = this.#windows.get(client)
    if (window === undefined) {
      window = { start: now, count: 0 }
      this.#windows.set(client, window)
    }
    const isAllowed = window.count < this.#limit
    // one client must not shut out all others
    const isBlocking = !isAllowed && this.#blockMs > 0 && client !== theOthers
    if (isAllowed) window.count += 1
    else if (isBlocking) this.#blocked.set(client, now)
    const end = window.start + this.#intervalMs
    const verdict = this.#verdict(this.#limit - window.count, now, end, isAllowed)
    return isBlocking ? { ...verdict, retryIn: Math.max(verdict.retryIn, this.#blockMs / 1000) } : verdict
  }

  #verdict(remaining: number, now: number, end: number, isAllowed: boolean): Verdict {
    const seconds = Math.ceil((end - now) / 1000)
    return {
      isAllowed,
      remaining,
      isBlocked: false,
      limit: this.#limit,
      resetsIn: seconds,
      retryIn: Math.max(1, seconds),
    }
  }

  #isKnown(address: string): boolean {
    return this.#windows.has(address) || this.#blocked.has(address)
  }

  /** A start in the future was before the clock was set back. */
  #dropEnded(now: number): void {
    for (const [client, { start }] of this.#windows) {
      if (now >= start && now < start + this.#intervalMs) break
      this.#windows.delete(client)
    }
    for (const [client, at] of this.#blocked) {
      if (now >= at && now < at + this.#blockMs) break
      this.#blocked.delete(client)
    }
  }
}
