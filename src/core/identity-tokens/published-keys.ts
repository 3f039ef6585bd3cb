import { Cache } from '../../lib/data/cache.ts'
import type { Clock } from '../../lib/system/clock.ts'
import { mountOfKey } from './issuer-keys.ts'
import { formerKeysOf, nextChangeOf } from './named-key.ts'
import type { ReadyKey } from './named-key-store.ts'
import type { PublicKey } from './signing-key.ts'

/** The public keys of one issuer, of all named keys that are in use. */
export type KeySet = {
  readonly byId: ReadonlyMap<string, PublicKey>
  /** The JWK set. RFC 7517 §5. */
  readonly text: string
  /** The next scheduled change, in milliseconds since the epoch; infinite without keys. */
  readonly nextChange: number
}

type PublishedKeysParts = {
  readonly clock: Clock
  /** The named keys of an issuer whose public keys are published. */
  keysOf(issuer: string): Promise<readonly ReadyKey[]>
  /** How many public keys are published: those that sign now or next, then the latest former ones. */
  readonly mostKeys?: number
}

/** Caches each issuer's published keys until a key or role changes or a former key expires. */
export class PublishedKeys {
  readonly #parts: PublishedKeysParts
  readonly #sets = new Cache<KeySet>({ name: 'published keys', most: 1_000 })

  constructor(parts: PublishedKeysParts) {
    this.#parts = parts
  }

  async of(mount: string): Promise<KeySet> {
    const cached = this.#sets.get(mount)
    if (cached !== undefined && this.#parts.clock.now() < cached.nextChange) return cached
    const drops = this.#sets.drops
    const set = await this.#load(mount)
    this.#sets.set(mount, set, drops)
    return set
  }

  drop(mount: string): void {
    this.#sets.drop(mount)
  }

  /** Drops the key sets of issuers of which a record has been written by any server; undefined: all. */
  follow(written: readonly string[] | undefined): void {
    this.#sets.follow(written, mountOfKey)
  }

  dropAll(): void {
    this.#sets.dropAll()
  }

  async #load(mount: string): Promise<KeySet> {
    const { clock, keysOf, mostKeys } = this.#parts
    const keys = (await keysOf(mount)).map(({ key }) => key)
    const now = clock.now()
    const former = keys.flatMap((key) => formerKeysOf(key, now)).sort((a, b) => b.until - a.until)
    const published = [
      ...keys.map(({ signing }) => signing.publicKey),
      ...keys.map(({ next }) => next.publicKey),
      ...former.map(({ publicKey }) => publicKey),
    ]
    const byId = new Map(published.slice(0, mostKeys).map((key) => [key.kid, key]))
    return {
      byId,
      text: JSON.stringify({ keys: [...byId.values()] }),
      nextChange: Math.min(...keys.map((key) => nextChangeOf(key, now))),
    }
  }
}
