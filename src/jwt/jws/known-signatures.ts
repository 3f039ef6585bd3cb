import { createHmac, type KeyObject, randomBytes } from 'node:crypto'
import { Cache } from '../../lib/data/cache.ts'
import type { Clock } from '../../lib/system/clock.ts'

/** Longer signed texts are checked each time. */
const longest = 16 * 1024
const hourMs = 3_600_000

/**
 * Which key has signed which text: nothing but this, and only what was verified, so whatever is decided from a token is
 * decided anew each time. A key that was fetched or configured again is another one. docs/decisions/0004-signature-checks.md
 */
export class KnownSignatures {
  readonly #secret = randomBytes(32)
  readonly #numbers = new WeakMap<KeyObject, number>()
  readonly #known: Cache<true>
  #lastNumber = 0

  constructor(clock: Clock) {
    this.#known = new Cache<true>({ name: 'verified signatures', most: 10_000, ttl: { ms: hourMs, clock } })
  }

  /** Whether the key is known to have signed the text. Otherwise `verify` decides; a refusal is not kept. */
  async isSignedBy(
    key: KeyObject,
    signed: { readonly signingInput: Uint8Array; readonly signature: Uint8Array },
    verify: () => Promise<boolean>,
  ): Promise<boolean> {
    if (signed.signingInput.length > longest) return verify()
    const digest = this.#digestOf(key, signed)
    if (this.#known.get(digest) === true) return true
    const isSigned = await verify()
    if (isSigned) this.#known.set(digest, true)
    return isSigned
  }

  #numberOf(key: KeyObject): number {
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    this.#lastNumber += 1
    this.#numbers.set(key, this.#lastNumber)
    return this.#lastNumber
  }

  #digestOf(
    key: KeyObject,
    { signingInput, signature }: { readonly signingInput: Uint8Array; readonly signature: Uint8Array },
  ): string {
    const lengths = `${this.#numberOf(key)}.${signingInput.length}.`
    return createHmac('sha256', this.#secret)
      .update(lengths)
      .update(signingInput)
      .update(signature)
      .digest('base64')
  }
}
