import { timingSafeEqual } from 'node:crypto'
import { refuse } from '../../errors.ts'
import { KeyedMutex } from '../../lib/concurrency/keyed-mutex.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { Random } from '../../lib/system/random.ts'
import { sealedError } from '../barrier/keyring-store.ts'
import type { HeldKey } from './held-key.ts'
import { combineShares } from './shares.ts'

/** Shares are discarded after this time without another one. docs/contract/seal.md#progress */
const expiryMs = 10 * 60_000

export type ShareProgressParts = {
  readonly clock: Clock
  readonly random: Random
  /** Called when the shares were discarded for lack of progress. */
  onExpired?(): void
}

/**
 * Collects the distinct shares of one key, under a nonce. They are in memory only, and filled with zeros once
 * they are combined, discarded or expired.
 */
export class ShareProgress implements Disposable {
  readonly #parts: ShareProgressParts
  readonly #mutex = new KeyedMutex()
  #shares: Buffer[] = []
  #nonce = ''
  #changedAt = 0
  #timer: NodeJS.Timeout | undefined
  #isDisposed = false

  constructor(parts: ShareProgressParts) {
    this.#parts = parts
  }

  /** Empty before `begin`, and again after `discard` and expiry. */
  get nonce(): string {
    this.#checkExpiry()
    return this.#nonce
  }

  get count(): number {
    this.#checkExpiry()
    return this.#shares.length
  }

  /** Begins without any share, under a new nonce. Throws `sealed` once disposed. */
  begin(): void {
    if (this.#isDisposed) throw sealedError()
    this.#wipe()
    this.#nonce = this.#parts.random.uuid()
    this.#progressed()
  }

  /** Takes over a share. False, and the share is filled with zeros, if it is one of those collected. */
  add(share: Buffer): boolean {
    this.#checkExpiry()
    if (this.#shares.some((one) => one.length === share.length && timingSafeEqual(one, share))) {
      share.fill(0)
      return false
    }
    this.#shares.push(share)
    this.#progressed()
    return true
  }

  /** The key of the shares, of which none are left then; see `combineShares`. */
  async combine(): Promise<Buffer | undefined> {
    const shares = this.#shares
    this.#shares = []
    try {
      return await combineShares(shares)
    } finally {
      for (const share of shares) share.fill(0)
    }
  }

  /** Throws a refusal, and the shares are gone, unless they are those of the key that `matches`. */
  async authorize(matches: HeldKey['matches'], failure: string): Promise<void> {
    const key = await this.combine()
    try {
      if (key === undefined || !(await matches(key)))
        throw refuse('invalid', `${failure}: invalid key: the shares are not those of the present key`)
    } finally {
      key?.fill(0)
    }
  }

  /** Runs work after all earlier work of this ceremony. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    return this.#mutex.runExclusive('', work)
  }

  /** Like `exclusively`, for work that takes over a share: one that is refused is not kept. */
  async offered<T>(share: Buffer, work: () => Promise<T>): Promise<T> {
    try {
      return await this.exclusively(work)
    } catch (error) {
      share.fill(0)
      throw error
    }
  }

  /** Forgets shares and nonce. */
  discard(): void {
    this.#wipe()
    this.#nonce = ''
    clearTimeout(this.#timer)
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true
    this.discard()
  }

  #wipe(): void {
    for (const share of this.#shares) share.fill(0)
    this.#shares = []
  }

  #progressed(): void {
    this.#changedAt = this.#parts.clock.now()
    this.#checkAfter(expiryMs)
  }

  /** Discards the shares in time even if nobody asks for them; the clock decides. */
  #checkAfter(ms: number): void {
    clearTimeout(this.#timer)
    // the timer must not keep the process alive
    this.#timer = setTimeout(() => this.#checkExpiry(), ms).unref()
  }

  #checkExpiry(): void {
    if (this.#nonce === '') return
    const left = this.#changedAt + expiryMs - this.#parts.clock.now()
    // after a step back of the clock, more than the whole time is left
    if (left > 0) this.#checkAfter(Math.min(left, expiryMs))
    else this.#expire()
  }

  #expire(): void {
    this.discard()
    this.#parts.onExpired?.()
  }
}
