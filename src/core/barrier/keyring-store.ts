import type { Buffer } from 'node:buffer'
import { refuse, ServiceError } from '../../errors.ts'
import { KeyedMutex } from '../../lib/keyed-mutex.ts'
import type { Random } from '../../lib/random.ts'
import type { BatchEntry, Storage, StoredRecord } from '../../storage/storage.ts'
import { keyringKey, openRing, type Ring, sealRing, wipe } from './keyring-record.ts'
import { newKey, openRootKey, rootKeyKey, sealRootKey } from './root-key.ts'

export type KeyringStoreParts = {
  readonly storage: Storage
  readonly random: Random
  /** Belongs to the store, which overwrites it in the end. */
  readonly rootKey: Buffer
}

/** The error of every call on a sealed barrier. */
export const sealedError = () => new ServiceError('sealed', 'Vault is sealed')

/** The stored keyring and root key. Changes wait for each other. All calls throw `sealed` after `drop`. */
export class KeyringStore {
  readonly #storage: Storage
  readonly #random: Random
  readonly #changes = new KeyedMutex()
  #rootKey: Buffer
  /** What a change in progress is writing. */
  #newRootKey: Buffer | undefined
  readonly #newRings: Ring[] = []
  #isDropped = false

  constructor({ storage, random, rootKey }: KeyringStoreParts) {
    this.#storage = storage
    this.#random = random
    this.#rootKey = rootKey
  }

  /** The caller must wipe the terms. Throws if the keyring is missing or the root key does not decrypt it. */
  async read(): Promise<Ring> {
    return openRing((await this.#stored(keyringKey)).value, this.#rootKey)
  }

  /**
   * Changes the keyring atomically and hands it to `adopt` once it is durable, in the same turn of the event
   * loop. `change` may run again. It must wipe the terms it removes; `adopt` must wipe the others in the end.
   */
  change(change: (ring: Ring) => void, adopt: (ring: Ring) => void): Promise<void> {
    return this.#changes.runExclusive(keyringKey, () => this.#write(change, adopt))
  }

  /** Replaces the root key and the seal key. See barrier.ts */
  rekey(sealKey: Uint8Array, also: readonly BatchEntry[]): Promise<boolean> {
    return this.#replaceRootKey((rootKey) => this.#writeRootKey(rootKey, sealKey, { also }))
  }

  /** Replaces the root key. See barrier.ts */
  async rotateRootKey(sealKey: Uint8Array): Promise<void> {
    await this.#replaceRootKey(async (rootKey) => {
      let isWritten = false
      // another server may have changed the keyring meanwhile
      while (!isWritten) isWritten = await this.#writeRootKey(rootKey, sealKey, { mustOpen: true })
      return isWritten
    })
  }

  /** Overwrites all keys. */
  drop(): void {
    this.#isDropped = true
    for (const { terms } of this.#newRings) wipe(terms)
    this.#rootKey.fill(0)
    this.#newRootKey?.fill(0)
  }

  async #stored(key: string): Promise<StoredRecord> {
    const record = await this.#storage.get(key)
    if (record === undefined) throw new Error(`${key} is missing`)
    if (this.#isDropped) throw sealedError()
    return record
  }

  async #write(change: (ring: Ring) => void, adopt: (ring: Ring) => void): Promise<void> {
    try {
      await this.#storage.update(keyringKey, (current) => {
        if (current === undefined) throw new Error(`${keyringKey} is missing`)
        if (this.#isDropped) throw sealedError()
        const ring = openRing(current, this.#rootKey)
        this.#newRings.push(ring)
        change(ring)
        return sealRing(ring, this.#rootKey, this.#random)
      })
      const changed = this.#isDropped ? undefined : this.#newRings.pop()
      if (changed !== undefined) adopt(changed)
    } finally {
      for (const { terms } of this.#newRings.splice(0)) wipe(terms)
    }
  }

  /** Uses a new root key from then on if `write` has written it. */
  #replaceRootKey(write: (rootKey: Buffer) => Promise<boolean>): Promise<boolean> {
    return this.#changes.runExclusive(keyringKey, async () => {
      const rootKey = newKey(this.#random)
      this.#newRootKey = rootKey
      let unused = rootKey
      try {
        const isWritten = await write(rootKey)
        if (isWritten && !this.#isDropped) {
          unused = this.#rootKey
          this.#rootKey = rootKey
        }
        return isWritten
      } finally {
        unused.fill(0)
        this.#newRootKey = undefined
      }
    })
  }

  /**
   * Writes the keyring under a new root key, that one under the seal key, and `also`. False, without any
   * write, if root key or keyring was written meanwhile or an expectation of `also` does not hold. With
   * `mustOpen`, throws `invalid` if this is not the seal key of the store.
   */
  async #writeRootKey(
    rootKey: Buffer,
    sealKey: Uint8Array,
    { also = [], mustOpen = false }: { also?: readonly BatchEntry[]; mustOpen?: boolean },
  ): Promise<boolean> {
    const [root, ring] = await Promise.all([this.#stored(rootKeyKey), this.#stored(keyringKey)])
    // sealed between the two
    if (this.#isDropped) throw sealedError()
    const current = mustOpen ? openRootKey(sealKey, root) : this.#rootKey
    if (current === undefined) throw refuse('invalid', 'seal key does not open this store')
    const opened = openRing(ring.value, current)
    const value = sealRing(opened, rootKey, this.#random)
    if (current !== this.#rootKey) current.fill(0)
    wipe(opened.terms)
    return this.#storage.write([
      { key: rootKeyKey, value: sealRootKey(rootKey, sealKey, this.#random), expect: root.revision },
      { key: keyringKey, value, expect: ring.revision },
      ...also,
    ])
  }
}
