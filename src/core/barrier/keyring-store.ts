import type { Buffer } from 'node:buffer'
import { refuse, ServiceError } from '../../errors.ts'
import { KeyedMutex } from '../../lib/concurrency/keyed-mutex.ts'
import type { Random } from '../../lib/system/random.ts'
import type { BatchEntry, Storage, StoredRecord } from '../../storage/storage.ts'
import { keyringKey, openRing, type Ring, sealRing, type Term, wipe } from './keyring-record.ts'
import { newKey, openRootKey, rootKeyKey, sealRootKey } from './root-key.ts'
import { handOverKey, keepHandOver, openHandOver, sealHandOver } from './root-key-handover.ts'

export type KeyringStoreParts = {
  readonly storage: Storage
  readonly random: Random
  /** Belongs to the store, which overwrites it in the end. */
  readonly rootKey: Buffer
}

type RootKeyWrite = {
  readonly also?: readonly BatchEntry[]
  /** Whether this must be the seal key of the store. */
  readonly mustOpen?: boolean
}

/** The error of every call on a sealed barrier. */
export const sealedError = () => new ServiceError('sealed', 'Vault is sealed')

/**
 * The stored keyring and root key. Changes wait for each other. If another server has replaced the root key,
 * the new one is taken from what that server left. All calls throw `sealed` after `drop`.
 */
export class KeyringStore {
  readonly #storage: Storage
  readonly #random: Random
  readonly #knownTerms: () => readonly Term[]
  readonly #changes = new KeyedMutex()
  #rootKey: Buffer
  /** What a change in progress is writing. */
  #newRootKey: Buffer | undefined
  readonly #newRings: Ring[] = []
  #isDropped = false

  constructor({ storage, random, rootKey }: KeyringStoreParts, knownTerms: () => readonly Term[]) {
    this.#storage = storage
    this.#random = random
    this.#rootKey = rootKey
    this.#knownTerms = knownTerms
  }

  /**
   * Hands the stored keyring to `adopt`, which must wipe the terms in the end. Throws if the keyring is missing
   * or the root key does not decrypt it.
   */
  read(adopt: (ring: Ring) => void): Promise<void> {
    return this.#changes.runExclusive(keyringKey, () =>
      this.#withRootKey(async () => {
        const { value } = await this.#stored(keyringKey)
        adopt(openRing(value, this.#rootKey))
      }),
    )
  }

  /**
   * Changes the keyring atomically and hands it to `adopt` once it is durable, in the same turn of the event
   * loop. `change` may run again. It must wipe the terms it removes; `adopt` must wipe the others in the end.
   */
  change(change: (ring: Ring) => void, adopt: (ring: Ring) => void): Promise<void> {
    return this.#changes.runExclusive(keyringKey, () => this.#withRootKey(() => this.#write(change, adopt)))
  }

  /** Removes what other servers could decrypt only with other terms. */
  async keepHandOver(terms: readonly Term[]): Promise<void> {
    if ((await this.#storage.get(handOverKey)) === undefined) return
    await this.#storage.update(handOverKey, (current) => current && keepHandOver(current, terms))
  }

  /** Replaces the root key and the seal key. See barrier.ts */
  rekey(sealKey: Uint8Array, also: readonly BatchEntry[]): Promise<boolean> {
    return this.#replaceRootKey((rootKey) => this.#writeRootKey(rootKey, sealKey, { also }))
  }

  /** Replaces the root key. See barrier.ts */
  async rotateRootKey(sealKey: Uint8Array): Promise<void> {
    await this.#replaceRootKey(async (rootKey) => {
      // another server may change the keys meanwhile
      while (!(await this.#writeRootKey(rootKey, sealKey, { mustOpen: true })));
      return true
    })
  }

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

  /** Runs `work` again as long as that fails because another server has replaced the root key. */
  async #withRootKey(work: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await work()
      } catch (cause) {
        if (this.#isDropped || cause instanceof ServiceError || !(await this.#takeOver())) throw cause
      }
    }
  }

  /** Uses the root key that another server has left. False if there is none but the present one. */
  async #takeOver(): Promise<boolean> {
    const left = this.#storage.shared && (await this.#storage.get(handOverKey))
    const rootKey = left && openHandOver(left.value, this.#knownTerms())
    if (rootKey === undefined) return false
    const isOther = !this.#isDropped && !rootKey.equals(this.#rootKey)
    const unused = isOther ? this.#rootKey : rootKey
    if (isOther) this.#rootKey = rootKey
    unused.fill(0)
    return isOther
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
  async #writeRootKey(rootKey: Buffer, sealKey: Uint8Array, options: RootKeyWrite): Promise<boolean> {
    const { also = [], mustOpen = false } = options
    const [root, ring] = await Promise.all([this.#stored(rootKeyKey), this.#stored(keyringKey)])
    // sealed between the two
    if (this.#isDropped) throw sealedError()
    const current = mustOpen ? openRootKey(sealKey, root) : this.#rootKey
    if (current === undefined) throw refuse('invalid', 'seal key does not open this store')
    const keys = this.#keysUnder(rootKey, { ring, current })
    if (current !== this.#rootKey) current.fill(0)
    if (keys === undefined) {
      // another server wrote both between the two reads, or else the keyring is damaged
      const again = mustOpen ? await Promise.all([this.#stored(rootKeyKey), this.#stored(keyringKey)]) : []
      if (mustOpen && again.every(({ revision }, at) => revision === [root, ring][at]?.revision))
        throw new Error(`the root key does not open ${keyringKey}`)
      return false
    }
    return this.#storage.write([
      { key: rootKeyKey, value: sealRootKey(rootKey, sealKey, this.#random), expect: root.revision },
      ...keys,
      ...also,
    ])
  }

  /**
   * The keyring under a new root key, and that one for other servers. Undefined if `current` does not open the
   * keyring: another server has written them.
   */
  #keysUnder(
    rootKey: Buffer,
    { ring, current }: { ring: StoredRecord; current: Buffer },
  ): BatchEntry[] | undefined {
    const opened = openedRing(ring.value, current)
    if (opened === undefined) return undefined
    try {
      const { terms } = opened
      const handOver =
        this.#storage.shared === undefined
          ? []
          : [{ key: handOverKey, value: sealHandOver(rootKey, terms, this.#random) }]
      const value = sealRing(opened, rootKey, this.#random)
      return [...handOver, { key: keyringKey, value, expect: ring.revision }]
    } finally {
      wipe(opened.terms)
    }
  }
}

function openedRing(sealed: Uint8Array, rootKey: Uint8Array): Ring | undefined {
  try {
    return openRing(sealed, rootKey)
  } catch {
    return undefined
  }
}
