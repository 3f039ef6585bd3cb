import { countedAddress } from '../../lib/net/address.ts'
import type { Clock } from '../../lib/system/clock.ts'

/** How many logins of one address a mount refuses in this time, until it refuses all of them. */
export type LoginFailureLimit = { readonly count: number; readonly durationMs: number }

/** Most addresses that are counted; beyond, the oldest are forgotten, so that nobody shuts out the others. */
const mostCounted = 50_000

/** Counts the refused logins of each client address at each mount. docs/limits.md#refused-logins */
export class LoginThrottle {
  readonly #limit: LoginFailureLimit
  readonly #clock: Clock
  /** In the order of their starts, so that the first ones end first. */
  readonly #windows = new Map<string, { readonly start: number; count: number }>()

  constructor(limit: LoginFailureLimit, clock: Clock) {
    this.#limit = limit
    this.#clock = clock
  }

  /** Seconds until the address may log in again, rounded up; undefined if it may now. */
  waitOf(mount: string, address: string): number | undefined {
    const window = this.#windows.get(keyOf(mount, address))
    if (window === undefined || window.count < this.#limit.count) return undefined
    const now = this.#clock.now()
    return this.#isOver(window.start, now)
      ? undefined
      : Math.ceil((window.start + this.#limit.durationMs - now) / 1000)
  }

  /** Counts a refused login. */
  note(mount: string, address: string): void {
    const now = this.#clock.now()
    this.#makeRoom(now)
    const key = keyOf(mount, address)
    const window = this.#windows.get(key)
    if (window === undefined) this.#windows.set(key, { start: now, count: 1 })
    else window.count += 1
  }

  #makeRoom(now: number): void {
    for (const [key, { start }] of this.#windows) {
      if (!this.#isOver(start, now) && this.#windows.size < mostCounted) return
      this.#windows.delete(key)
    }
  }

  /** A start in the future was before the clock was set back. */
  #isOver(start: number, now: number): boolean {
    return now < start || now >= start + this.#limit.durationMs
  }
}

const keyOf = (mount: string, address: string): string => `${mount} ${countedAddress(address)}`
