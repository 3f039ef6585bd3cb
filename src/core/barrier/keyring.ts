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
type Term = {
  term: number
  key: string
  install_time: string
  reserved: number
  /** Until when something that was handed out under this term must open, milliseconds; absent in rings of older versions, which did not note it. */
  out_until?: number
}
type Ring = { terms: Term[]; rotation?: RotationRules }

/** When a new term begins by itself. `interval`: seconds after the one before, 0 for never; `max_operations`: encryptions of one term. */
export type RotationRules = { readonly enabled: boolean; readonly interval: number; readonly max_operations: number }

export type KeyLimits = {
  /** Encryptions one data key may do: random nonces of 12 bytes must not repeat. docs/storage.md#the-barrier */
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
 * servers are killed; a new term begins before that. docs/storage.md.
 */
export class Keyring {
  readonly #parts: KeyringParts
  readonly #keys = new Map<number, Buffer>()
  #active: Term | undefined
  #sealing: SealingKey | undefined
  #left = 0
  #reserving: Promise<void> | undefined
  #marking: Promise<void> | undefined
  #terms: readonly Term[] = []
  #rotation: RotationRules | undefined
  /** Writes under way, by the epoch in which they began. */
  readonly #writing = [0, 0]
  #epoch = 0
  #drained: (() => void) | undefined
  /** Told of a new term. */
  onNewTerm: () => void = () => {}

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

  /** The number of the term that seals now; undefined when sealed. */
  get activeTerm(): number | undefined {
    return this.#active?.term
  }

  get hasOlderTerms(): boolean {
    return this.#terms.length > 1
  }

  /** Throws `sealed` when sealed. */
  rotationRules(): RotationRules {
    if (this.isDropped) throw sealedError()
    return this.#rulesOf({ ...(this.#rotation === undefined ? {} : { rotation: this.#rotation }) })
  }

  /** They hold from the next block of encryptions on. */
  changeRotationRules(change: (rules: RotationRules) => RotationRules): Promise<void> {
    return this.#changeRing((ring) => {
      ring.rotation = change(this.#rulesOf(ring))
    })
  }

  #rulesOf({ rotation }: Pick<Ring, 'rotation'>): RotationRules {
    return rotation ?? { enabled: true, interval: 0, max_operations: this.#parts.limits.perKey }
  }

  /** A write begins that seals values; call what comes back when it is durable or has failed. */
  beginWrite(): () => void {
    const epoch = this.#epoch
    this.#writing[epoch] = (this.#writing[epoch] ?? 0) + 1
    return () => {
      this.#writing[epoch] = (this.#writing[epoch] ?? 0) - 1
      if (epoch !== this.#epoch && this.#writing[epoch] === 0) this.#drained?.()
    }
  }

  /** Resolves when no write is under way that began before. One caller at a time. */
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
   * Notes that something is handed out under the active term that must open until then. Seldom a write: a day is added. Afterwards, in the same turn of
   * the event loop, the active term is one for which that is noted.
   */
  async handOut(until: number): Promise<void> {
    while (this.#active !== undefined && !(until <= (this.#active.out_until ?? -1))) {
      this.#marking ??= this.#markOut(until).finally(() => {
        this.#marking = undefined
      })
      await this.#marking
    }
  }

  /** Removes the terms below `active` with which nothing is sealed any more, but those of `kept`. */
  async retire(active: number, kept: ReadonlySet<number>): Promise<void> {
    const now = this.#parts.clock.now()
    const isOver = (ring: Ring, term: Term, index: number) =>
      term.term < active && index < ring.terms.length - 1 && !kept.has(term.term) && outUntil(term, ring.terms[index + 1]) <= now
    if (!this.#terms.some((term, index) => isOver({ terms: [...this.#terms] }, term, index))) return
    await this.#changeRing((ring) => {
      ring.terms = ring.terms.filter((term, index) => !isOver(ring, term, index))
    })
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
    this.#terms = []
    this.#left = 0
  }

  get isDropped(): boolean {
    return this.#sealing === undefined
  }

  #reserveInBackground(): void {
    // a failure shows when the last encryption is gone, and each further one tries again
    this.reserve().catch(() => {})
  }

  /** Takes a block from the active term, or from a new one when that is asked for or the old one has no block left. */
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
    const isNewTerm = before !== this.#active?.term
    this.#left = (isNewTerm ? 0 : this.#left) + limits.block
    if (isNewTerm && before !== undefined) this.onNewTerm()
  }

  #markOut(until: number): Promise<void> {
    const now = this.#parts.clock.now()
    return this.#changeRing((ring) => {
      const active = activeTerm(ring)
      // what an older version handed out under it is not known
      const least = active.out_until === undefined ? now + unnotedMs : active.out_until
      active.out_until = Math.max(least, Math.min(until + dayMs, Number.MAX_SAFE_INTEGER))
    })
  }

  /** One atomic step over the stored ring. */
  async #changeRing(change: (ring: Ring) => void): Promise<void> {
    const { storage, rootKey, random } = this.#parts
    let changed: Ring = { terms: [] }
    await storage.update(keyringKey, (current) => {
      if (current === undefined) throw new Error(`${keyringKey} is missing`)
      if (this.isDropped) throw sealedError()
      changed = openRing(current, rootKey)
      change(changed)
      return sealRing(changed, rootKey, random)
    })
    if (!this.isDropped) this.#adopt(changed)
  }

  #adopt(ring: Ring): void {
    const held = new Set(ring.terms.map(({ term }) => term))
    for (const { term, key } of ring.terms) if (!this.#keys.has(term)) this.#keys.set(term, Buffer.from(key, 'base64'))
    for (const [term, key] of this.#keys) {
      if (held.has(term)) continue
      key.fill(0)
      this.#keys.delete(term)
    }
    this.#terms = ring.terms
    this.#rotation = ring.rotation
    this.#active = activeTerm(ring)
    const key = this.#keys.get(this.#active.term)
    if (key !== undefined) this.#sealing = { term: this.#active.term, key, random: this.#parts.random }
  }
}

const dayMs = 86_400_000
/** How long what an older version handed out under a term may live: the default maximum of a lease. */
const unnotedMs = 32 * dayMs

/** When nothing needs a term any more that was handed out under it. `next` is the term that followed it. */
const outUntil = (term: Term, next: Term | undefined): number => term.out_until ?? Date.parse(next?.install_time ?? '') + unnotedMs

/** What every call on a sealed barrier gets. */
export const sealedError = () => new ServiceError('sealed', 'Vault is sealed')

function newTerm(term: number, { clock, random }: Pick<KeyringParts, 'clock' | 'random'>): Term {
  return {
    term,
    key: Buffer.from(random.bytes(keyBytes)).toString('base64'),
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

const sealRing = (ring: Ring, rootKey: Uint8Array, random: Random) =>
  sealValue({ term: 0, key: rootKey, random }, keyringKey, Buffer.from(JSON.stringify(ring)))

// authenticated: only sealRing writes it
const openRing = (sealed: Uint8Array, rootKey: Uint8Array): Ring => JSON.parse(openValue(rootKey, keyringKey, sealed).toString('utf8')) as Ring
