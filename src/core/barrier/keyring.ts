import type { Buffer } from 'node:buffer'
import { ServiceError } from '../../errors.ts'
import type { Clock } from '../../lib/system/clock.ts'
import { NextRun } from '../../lib/system/next-run.ts'
import { unfenced } from '../../storage/shared-storage.ts'
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

/** A value is encrypted with a term that this server does not know. */
export class UnknownTerm extends Error {
  override readonly name = 'UnknownTerm'
  readonly term: number
  readonly associatedData: string

  constructor(term: number, associatedData: string) {
    super('not sealed under a known term')
    this.term = term
    this.associatedData = associatedData
  }
}

/**
 * Status of the active term. `encryptions` counts blocks that other servers or earlier starts reserved as
 * used.
 */
export type KeyStatus = { term: number; install_time: string; encryptions: number }

/**
 * The data keys in memory. Each encryption must be reserved in storage beforehand, so that no key exceeds its
 * limit even if servers are killed; a new term starts before that. docs/storage.md
 * Servers that share the storage follow each other's changes: docs/replicas.md#keys
 */
export class Keyring {
  readonly stored: KeyringStore
  readonly #parts: Pick<KeyringParts, 'clock' | 'random' | 'limits'>
  readonly #reloading: NextRun
  /** No write is in progress that is encrypted with an older term. */
  #settledTerm: number | undefined
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
  #settling: Promise<void> = Promise.resolve()
  readonly #newTermListeners: ((term: number) => void)[] = []

  constructor(parts: KeyringParts) {
    this.stored = new KeyringStore(parts, () => this.#terms)
    this.#parts = parts
    this.#reloading = new NextRun(() => unfenced(() => this.#reload()))
  }

  onNewTerm(listener: (term: number) => void): void {
    this.#newTermListeners.push(listener)
  }

  /** Reads the keyring. Throws if it is missing or the root key does not decrypt it. */
  load(): Promise<void> {
    return this.stored.read((ring) => this.#adopt(ring, 0))
  }

  /**
   * Adopts what other servers have written. When it resolves, this server has no write in progress that is
   * encrypted with an older term than the active one.
   */
  async follow(): Promise<void> {
    await this.#reloading.run()
    const active = this.#active?.term
    if (active === this.#settledTerm) return
    await this.writesSettled()
    this.#settledTerm = active
  }

  /** Reads the keyring again if this may be a term that another server has begun. */
  async learn(term: number): Promise<void> {
    if (term > (this.#active?.term ?? term)) await this.#reloading.run()
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
    // many callers may wait for it, of which one may work for a background job
    this.#reserving ??= unfenced(() => this.#reserveBlock(false)).finally(() => {
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

  /** Waits for all writes that have started before the call. */
  writesSettled(): Promise<void> {
    this.#settling = this.#settling.then(() => this.#writesSettled())
    return this.#settling
  }

  async #writesSettled(): Promise<void> {
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
      this.#marking ??= unfenced(() => this.#markOut(until)).finally(() => {
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
    await this.stored.keepHandOver(this.#terms)
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
    const term = termOf(sealed) ?? 0
    const key = this.#keys.get(term)
    if (key === undefined) throw new UnknownTerm(term, associatedData)
    return openValue(key, associatedData, sealed)
  }

  /** Returns the encryptions that are reserved and not used. Nothing may be encrypted meanwhile or afterwards. */
  giveBack(): Promise<void> {
    return this.#changeRing((ring) => {
      activeTerm(ring).reserved -= this.#left
      return -this.#left
    })
  }

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

  async #reload(): Promise<void> {
    const before = this.#active?.term
    const read: { active?: number } = {}
    await this.stored.read((ring) => {
      const { term } = activeTerm(ring)
      read.active = term
      if (term === before) this.#adopt(ring, 0)
      else wipe(ring.terms)
    })
    if (read.active === before) return
    // reserves a block in the new term: what is left belongs to the earlier one
    await this.#reserveBlock(false).catch(() => this.load())
  }

  /**
   * Reserves a block in the active term, or in a new one if requested or if the active one has no block left.
   */
  #reserveBlock(newKey: boolean): Promise<void> {
    return this.#changeRing((ring) => this.#addBlock(ring, newKey))
  }

  #addBlock(ring: Ring, newKey: boolean): number {
    const { limits } = this.#parts
    const active = activeTerm(ring)
    const { enabled, max_operations } = this.#rulesOf(ring)
    const hasBlock = !newKey && active.reserved + limits.block <= (enabled ? max_operations : limits.perKey)
    if (!hasBlock) ring.terms.push(newTerm(active.term + 1, this.#parts))
    activeTerm(ring).reserved += limits.block
    return limits.block
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

  /** `change` returns the number of encryptions that it has reserved in the active term, if any. */
  async #changeRing(change: (ring: Ring) => number | undefined): Promise<void> {
    let reserved = 0
    await this.stored.change(
      (ring) => {
        reserved = change(ring) ?? 0
        // another server has begun a term: what is left belongs to an earlier one
        if (reserved === 0 && activeTerm(ring).term !== this.#active?.term)
          reserved = this.#addBlock(ring, false)
      },
      (ring) => this.#adopt(ring, reserved),
    )
  }

  /** `reserved`: encryptions that were reserved in the active term with the last write. */
  #adopt(ring: Ring, reserved: number): void {
    const before = this.#active?.term
    wipe(this.#terms)
    this.#terms = ring.terms
    this.#keys = new Map(ring.terms.map(({ term, key }) => [term, key]))
    this.#rotation = ring.rotation
    this.#active = activeTerm(ring)
    const { term, key } = this.#active
    this.#sealing = { term, key, random: this.#parts.random }
    this.#left = reserved + (term === before ? this.#left : 0)
    if (term === before || before === undefined) return
    for (const listener of this.#newTermListeners) listener(term)
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
