import type { Buffer } from 'node:buffer'
import { ServiceError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { keyringKey, type Ring, type RotationRules, sealRing, type Term, wipe } from './keyring-record.ts'
import { KeyringStore, type KeyringStoreParts, sealedError } from './keyring-store.ts'
import { newKey } from './root-key.ts'
import { openValue, type SealingKey, sealValue, termOf } from './sealed-value.ts'

export type KeyLimits = {
  /**
   * Most encryptions with one data key, so that random 12-byte nonces do not repeat.
   * docs/storage.md#the-barrier
   */
  perKey: number
  /** Encryptions a server reserves at once. */
  block: number
}

export const defaultKeyLimits: KeyLimits = { perKey: 3_865_470_566, block: 1_000_000 }

export type KeyringParts = KeyringStoreParts & { readonly clock: Clock; readonly limits: KeyLimits }

/** The encrypted first keyring of a store, with one term. */
export function firstKeyring({
  rootKey,
  clock,
  random,
}: Pick<KeyringParts, 'rootKey' | 'clock' | 'random'>): Buffer {
  const terms = [newTerm(1, { clock, random })]
  const sealed = sealRing({ terms }, rootKey, random)
  wipe(terms)
  return sealed
}

/**
 * Status of the active term. `encryptions` counts blocks that other servers or earlier starts reserved as
 * used.
 */
export type KeyStatus = { term: number; install_time: string; encryptions: number }

/**
 * The data keys in memory. Each encryption must be reserved in storage beforehand, so that no key exceeds its
 * limit even if servers are killed; a new term starts before that. docs/storage.md
 */
export class Keyring {
  /** The stored keyring and its root key. */
  readonly stored: KeyringStore
  readonly #parts: Pick<KeyringParts, 'clock' | 'random' | 'limits'>
  #active: Term | undefined
  #sealing: SealingKey | undefined
  #left = 0
  #reserving: Promise<void> | undefined
  #marking: Promise<void> | undefined
  #terms: readonly Term[] = []
  #keys: ReadonlyMap<number, Buffer> = new Map()
  #rotation: RotationRules | undefined
  /** Number of writes in progress, by the epoch in which they started. */
  readonly #writing = [0, 0]
  #epoch = 0
  #drained: (() => void) | undefined
  readonly #newTermListeners: ((term: number) => void)[] = []

  constructor(parts: KeyringParts) {
    this.stored = new KeyringStore(parts)
    this.#parts = parts
  }

  /** Calls the listener for each new term. */
  onNewTerm(listener: (term: number) => void): void {
    this.#newTermListeners.push(listener)
  }

  /** Reads the keyring. Throws if it is missing or the root key does not decrypt it. */
  async load(): Promise<void> {
    this.#adopt(await this.stored.read())
  }

  /**
   * Reserves a further block if fewer than `count` encryptions are left, so that the next `count` encryptions
   * do not fail.
   */
  async ensure(count: number): Promise<void> {
    if (this.isDropped) throw sealedError()
    if (this.#left < count) await this.reserve()
  }

  /** Reserves a block of encryptions. Concurrent callers share one. */
  reserve(): Promise<void> {
    this.#reserving ??= this.#reserveBlock(false).finally(() => {
      this.#reserving = undefined
    })
    return this.#reserving
  }

  /** Starts a new term. Values of older terms can still be decrypted. */
  async rotate(): Promise<KeyStatus> {
    await this.#reserveBlock(true)
    return this.status()
  }

  /** Number of the active term; undefined when sealed. */
  get activeTerm(): number | undefined {
    return this.#active?.term
  }

  get hasOlderTerms(): boolean {
    return this.#terms.length > 1
  }

  /** Throws `sealed`. */
  rotationRules(): RotationRules {
    if (this.isDropped) throw sealedError()
    return this.#rulesOf({ ...(this.#rotation === undefined ? {} : { rotation: this.#rotation }) })
  }

  /** Changes the rotation rules from the next block of encryptions on. */
  changeRotationRules(change: (rules: RotationRules) => RotationRules): Promise<void> {
    return this.#changeRing((ring) => {
      ring.rotation = change(this.#rulesOf(ring))
    })
  }

  #rulesOf({ rotation }: Pick<Ring, 'rotation'>): RotationRules {
    return rotation ?? { enabled: true, interval: 0, max_operations: this.#parts.limits.perKey }
  }

  /** Registers a write of encrypted values. Call the returned function when it is durable or has failed. */
  beginWrite(): () => void {
    const epoch = this.#epoch
    this.#writing[epoch] = (this.#writing[epoch] ?? 0) + 1
    return () => {
      this.#writing[epoch] = (this.#writing[epoch] ?? 0) - 1
      if (epoch !== this.#epoch && this.#writing[epoch] === 0) this.#drained?.()
    }
  }

  /** Waits for all writes that have started before the call. Supports one caller at a time. */
  async writesSettled(): Promise<void> {
    const before = this.#epoch
    this.#epoch = 1 - before
    if (this.#writing[before] === 0) return
    const drained = Promise.withResolvers<void>()
    this.#drained = drained.resolve
    await drained.promise
    this.#drained = undefined
  }

  /**
   * Records that texts of the active term are needed until that time. Adds a day, so that it seldom has to
   * write. When it resolves, the active term, in the same turn of the event loop, is one with this record.
   */
  async handOut(until: number): Promise<void> {
    while (this.#active !== undefined && !(until <= (this.#active.out_until ?? -1))) {
      this.#marking ??= this.#markOut(until).finally(() => {
        this.#marking = undefined
      })
      await this.#marking
    }
  }

  /** Removes terms before `active` that no client-held text needs any more, except those in `kept`. */
  async retire(active: number, kept: ReadonlySet<number>): Promise<void> {
    const now = this.#parts.clock.now()
    const isUnneeded = (ring: Ring, term: Term, index: number) =>
      term.term < active &&
      index < ring.terms.length - 1 &&
      !kept.has(term.term) &&
      outUntil(term, ring.terms[index + 1]) <= now
    if (!this.#terms.some((term, index) => isUnneeded({ terms: [...this.#terms] }, term, index))) return
    await this.#changeRing((ring) => {
      const unneeded = ring.terms.filter((term, index) => isUnneeded(ring, term, index))
      ring.terms = ring.terms.filter((term) => !unneeded.includes(term))
      wipe(unneeded)
    })
  }

  status(): KeyStatus {
    const active = this.#active
    if (active === undefined) throw sealedError()
    return { term: active.term, install_time: active.install_time, encryptions: active.reserved - this.#left }
  }

  /**
   * Encrypts a value. Throws `sealed`, or `unavailable` if no encryption is reserved because storage failed.
   */
  seal(associatedData: string, plain: Uint8Array): Buffer {
    if (this.#sealing === undefined) throw sealedError()
    if (this.#left <= this.#parts.limits.block / 2 && this.#reserving === undefined)
      this.#reserveInBackground()
    if (this.#left === 0)
      throw new ServiceError('unavailable', 'storage is unavailable', { reason: 'no_encryptions_reserved' })
    this.#left -= 1
    return sealValue(this.#sealing, associatedData, plain)
  }

  /** Decrypts a value. Throws `sealed`, or another error for bytes that cannot be decrypted. */
  open(associatedData: string, sealed: Uint8Array): Buffer {
    if (this.#sealing === undefined) throw sealedError()
    const key = this.#keys.get(termOf(sealed) ?? 0)
    if (key === undefined) throw new Error('not sealed under a known term')
    return openValue(key, associatedData, sealed)
  }

  /** Overwrites all keys. */
  drop(): void {
    this.stored.drop()
    wipe(this.#terms)
    this.#sealing = undefined
    this.#active = undefined
    this.#terms = []
    this.#keys = new Map()
    this.#left = 0
  }

  get isDropped(): boolean {
    return this.#sealing === undefined
  }

  #reserveInBackground(): void {
    // a failure surfaces when no encryption is left; each further one retries
    this.reserve().catch(() => {})
  }

  /**
   * Reserves a block in the active term, or in a new one if requested or if the active one has no block left.
   */
  async #reserveBlock(newKey: boolean): Promise<void> {
    const { limits } = this.#parts
    const before = this.#active?.term
    await this.#changeRing((ring) => {
      const active = activeTerm(ring)
      const { enabled, max_operations } = this.#rulesOf(ring)
      const hasBlock = !newKey && active.reserved + limits.block <= (enabled ? max_operations : limits.perKey)
      if (!hasBlock) ring.terms.push(newTerm(active.term + 1, this.#parts))
      activeTerm(ring).reserved += limits.block
    })
    if (this.isDropped) return
    const active = this.#active?.term
    if (active === before || active === undefined) {
      this.#left += limits.block
      return
    }
    this.#left = limits.block
    for (const listener of this.#newTermListeners) listener(active)
  }

  #markOut(until: number): Promise<void> {
    const now = this.#parts.clock.now()
    return this.#changeRing((ring) => {
      const active = activeTerm(ring)
      // older versions did not record what they handed out
      const least = active.out_until === undefined ? now + unnotedMs : active.out_until
      active.out_until = Math.max(least, Math.min(until + dayMs, Number.MAX_SAFE_INTEGER))
    })
  }

  #changeRing(change: (ring: Ring) => void): Promise<void> {
    return this.stored.change(change, (ring) => this.#adopt(ring))
  }

  #adopt(ring: Ring): void {
    wipe(this.#terms)
    this.#terms = ring.terms
    this.#keys = new Map(ring.terms.map(({ term, key }) => [term, key]))
    this.#rotation = ring.rotation
    this.#active = activeTerm(ring)
    const { term, key } = this.#active
    this.#sealing = { term, key, random: this.#parts.random }
  }
}

const dayMs = 86_400_000
/** Lifetime assumed for texts handed out by older versions: the default maximum lease TTL. */
const unnotedMs = 32 * dayMs

/** Time after which no client-held text needs a term. `next` is the following term. */
const outUntil = (term: Term, next: Term | undefined): number =>
  term.out_until ?? Date.parse(next?.install_time ?? '') + unnotedMs

function newTerm(term: number, { clock, random }: Pick<KeyringParts, 'clock' | 'random'>): Term {
  return {
    term,
    key: newKey(random),
    install_time: new Date(clock.now()).toISOString(),
    reserved: 0,
    out_until: 0,
  }
}

function activeTerm(ring: Ring): Term {
  const last = ring.terms.at(-1)
  if (last === undefined) throw new Error(`${keyringKey} holds no term`)
  return last
}
