import { Buffer } from 'node:buffer'
import { ServiceError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import type { Storage } from '../../storage/storage.ts'
import { keyBytes } from './seal.ts'
import { openValue, type SealingKey, sealValue, termOf } from './sealed-value.ts'

/** Where the keyring lies, sealed by the root key. */
export const keyringKey = 'barrier/keyring'

/** One data key. `reserved`: encryptions handed out to servers so far; what a server did not use up is lost. */
type Term = { term: number; key: string; install_time: string; reserved: number }
type Ring = { terms: Term[] }

export type KeyLimits = {
  /** Encryptions one data key may do: random nonces of 12 bytes must not repeat. Contract core-http §7.1. */
  perKey: number
  /** Encryptions a server reserves at once. */
  block: number
}

export const defaultKeyLimits: KeyLimits = { perKey: 3_865_470_566, block: 1_000_000 }

export type KeyringParts = { storage: Storage; rootKey: Buffer; clock: Clock; random: Random; limits: KeyLimits }

/** The first keyring of a store, with one term, sealed and ready to be written. */
export function firstKeyring({ rootKey, clock, random }: Pick<KeyringParts, 'rootKey' | 'clock' | 'random'>): Buffer {
  return sealRing({ terms: [newTerm(1, { clock, random })] }, rootKey, random)
}

/** Of the active term. `encryptions` counts what other servers and earlier starts reserved as used. */
export type KeyStatus = { term: number; install_time: string; encryptions: number }

/**
 * The data keys in memory. A server may seal only as often as it has reserved in storage beforehand, so that no key is used beyond its limit however often
 * servers are killed; a new term begins before that. Contract operations §10.
 */
export class Keyring {
  readonly #parts: KeyringParts
  readonly #keys = new Map<number, Buffer>()
  #active: Term | undefined
  #sealing: SealingKey | undefined
  #left = 0
  #reserving: Promise<void> | undefined

  constructor(parts: KeyringParts) {
    this.#parts = parts
  }

  /** Reads the keyring of storage. Throws when there is none or the root key does not open it. */
  async load(): Promise<void> {
    const record = await this.#parts.storage.get(keyringKey)
    if (record === undefined) throw new Error(`${keyringKey} is missing`)
    this.#adopt(openRing(record.value, this.#parts.rootKey))
  }

  /** Waits for a further block when fewer than `count` encryptions are left, so that sealing so many values next does not fail. */
  async ensure(count: number): Promise<void> {
    if (this.isDropped) throw sealedError()
    if (this.#left < count) await this.reserve()
  }

  /** Reserves a block of encryptions. Callers at the same time share one. */
  reserve(): Promise<void> {
    this.#reserving ??= this.#reserveBlock(false).finally(() => {
      this.#reserving = undefined
    })
    return this.#reserving
  }

  /** Begins a new term. Values of older ones still open. */
  async rotate(): Promise<KeyStatus> {
    await this.#reserveBlock(true)
    return this.status()
  }

  status(): KeyStatus {
    const active = this.#active
    if (active === undefined) throw sealedError()
    return { term: active.term, install_time: active.install_time, encryptions: active.reserved - this.#left }
  }

  /** Throws `unavailable` when nothing is reserved, which storage must have refused before. */
  seal(place: string, plain: Uint8Array): Buffer {
    if (this.#sealing === undefined) throw sealedError()
    if (this.#left <= this.#parts.limits.block / 2 && this.#reserving === undefined) this.#reserveInBackground()
    if (this.#left === 0) throw new ServiceError('unavailable', 'storage is unavailable', { reason: 'no_encryptions_reserved' })
    this.#left -= 1
    return sealValue(this.#sealing, place, plain)
  }

  /** Throws for whatever can not be opened; `sealed` when the keys are gone. */
  open(place: string, sealed: Uint8Array): Buffer {
    if (this.#sealing === undefined) throw sealedError()
    const key = this.#keys.get(termOf(sealed) ?? 0)
    if (key === undefined) throw new Error('not sealed under a known term')
    return openValue(key, place, sealed)
  }

  /** Overwrites all keys. */
  drop(): void {
    for (const key of this.#keys.values()) key.fill(0)
    this.#keys.clear()
    this.#parts.rootKey.fill(0)
    this.#sealing = undefined
    this.#active = undefined
    this.#left = 0
  }

  get isDropped(): boolean {
    return this.#sealing === undefined
  }

  #reserveInBackground(): void {
    // a failure shows when the last encryption is gone, and each further one tries again
    this.reserve().catch(() => {})
  }

  /** One atomic step over the stored ring: takes a block from the active term, or from a new one when that is asked for or the old one has no block left. */
  async #reserveBlock(newKey: boolean): Promise<void> {
    const { storage, rootKey, random, limits } = this.#parts
    let ring: Ring = { terms: [] }
    await storage.update(keyringKey, (current) => {
      if (current === undefined) throw new Error(`${keyringKey} is missing`)
      if (this.isDropped) throw sealedError()
      ring = openRing(current, rootKey)
      const active = activeTerm(ring)
      const hasBlock = !newKey && active.reserved + limits.block <= limits.perKey
      if (!hasBlock) ring.terms.push(newTerm(active.term + 1, this.#parts))
      activeTerm(ring).reserved += limits.block
      return sealRing(ring, rootKey, random)
    })
    if (this.isDropped) return
    const before = this.#active?.term
    this.#adopt(ring)
    this.#left = (before === this.#active?.term ? this.#left : 0) + limits.block
  }

  #adopt(ring: Ring): void {
    for (const { term, key } of ring.terms) if (!this.#keys.has(term)) this.#keys.set(term, Buffer.from(key, 'base64'))
    this.#active = activeTerm(ring)
    const key = this.#keys.get(this.#active.term)
    if (key !== undefined) this.#sealing = { term: this.#active.term, key, random: this.#parts.random }
  }
}

/** What every call on a sealed barrier gets. */
export const sealedError = () => new ServiceError('sealed', 'Vault is sealed')

function newTerm(term: number, { clock, random }: Pick<KeyringParts, 'clock' | 'random'>): Term {
  return { term, key: Buffer.from(random.bytes(keyBytes)).toString('base64'), install_time: new Date(clock.now()).toISOString(), reserved: 0 }
}

function activeTerm(ring: Ring): Term {
  const last = ring.terms.at(-1)
  if (last === undefined) throw new Error(`${keyringKey} holds no term`)
  return last
}

const sealRing = (ring: Ring, rootKey: Uint8Array, random: Random) =>
  sealValue({ term: 0, key: rootKey, random }, keyringKey, Buffer.from(JSON.stringify(ring)))

// authenticated: only sealRing writes it
const openRing = (sealed: Uint8Array, rootKey: Uint8Array): Ring => JSON.parse(openValue(rootKey, keyringKey, sealed).toString('utf8')) as Ring
