import type { Clock } from '../../lib/clock.ts'
import { RecordCache } from '../record-cache.ts'
import { mountOfKey } from './issuer-keys.ts'
import { nextChangeOf, publicKeysOf } from './named-key.ts'
import type { NamedKeyStore } from './named-key-store.ts'
import type { PublicKey } from './signing-key.ts'

/** The public keys of one issuer: those of all named keys that a role uses. */
export type KeySet = {
  readonly byId: ReadonlyMap<string, PublicKey>
  /** The JWK set. RFC 7517 §5. */
  readonly text: string
  /** The next scheduled change, in milliseconds since the epoch; infinite without keys. */
  readonly nextChange: number
}

const cacheLimit = 1_000

/** Caches each issuer's published keys until a key or role changes or a former key expires. */
export class PublishedKeys {
  readonly #keys: NamedKeyStore
  readonly #clock: Clock
  readonly #sets = new RecordCache<KeySet>(cacheLimit)

  constructor(keys: NamedKeyStore, clock: Clock) {
    this.#keys = keys
    this.#clock = clock
  }

  async of(mount: string): Promise<KeySet> {
    const cached = this.#sets.get(mount)
    if (cached !== undefined && this.#clock.now() < cached.nextChange) return cached
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

  async #load(mount: string): Promise<KeySet> {
    const now = this.#clock.now()
    const byId = new Map<string, PublicKey>()
    let nextChange = Number.POSITIVE_INFINITY
    for (const name of await this.#keys.usedNames(mount)) {
      const ready = await this.#keys.find(mount, name)
      if (ready === undefined) continue
      for (const key of publicKeysOf(ready.key, now)) byId.set(key.kid, key)
      nextChange = Math.min(nextChange, nextChangeOf(ready.key, now))
    }
    return { byId, text: JSON.stringify({ keys: [...byId.values()] }), nextChange }
  }
}
