import { z } from 'zod'
import { refuse } from '../../errors.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { Random } from '../../lib/system/random.ts'
import type { SharedStorage } from '../../storage/shared-storage.ts'
import { keep, type View, type ViewRecord } from '../barrier/view.ts'
import type { Mount } from '../mounts/mount.ts'
import { FollowedRecords } from '../records/followed-records.ts'
import { type KeyedHash, openKeyedHashes } from '../records/keyed-hash.ts'
import { areLocking, arePast, type Failures, withAnother } from './failures.ts'
import { type LockoutTerms, termsOf } from './lockout-terms.ts'

export type LockoutParts = {
  /** The core's view. */
  readonly view: View
  /** Undefined if no other server writes the storage. */
  readonly shared: SharedStorage | undefined
  readonly clock: Clock
  readonly random: Random
  /** The server's terms; undefined: nobody is locked. */
  readonly terms: LockoutTerms | undefined
  mountOf(uuid: string): Mount | undefined
  /** Called when this server locks a name that somebody has. */
  onLock(login: LoginName): void
  /** Called for a record that cannot be read: its lock does not hold. */
  onFailure(error: unknown): void
  /** The most names of a mount that nobody has. Tests only. */
  readonly mostUnknown?: number
}

/** Who logs in: a user's name in lower case, or a role id. */
export type LoginName = { readonly mount: Mount; readonly name: string }

/** The wrong secrets of a name, which is absent if nobody had it when the last one was sent. */
type Counted = Failures & { readonly name?: string }
type Known = Counted & { readonly isStored: boolean }

/** What is known of the names of one mount, by their keyed hashes; the ones with the latest failure last. */
type Names = {
  readonly existing: Map<string, Known>
  /** Names that nobody has. They live apart: anybody can send any number of them. */
  readonly unknown: Map<string, Known>
}

const prefix = 'lockout/lock/'
/** The default of `mostUnknown`. */
const mostUnknownNames = 100_000

/** Of versions that stored locks only, `count` and `locks` are absent. */
const storedFailures = z.looseObject({
  at: z.number(),
  count: z.number().default(0),
  locks: z.boolean().default(true),
  name: z.string().exactOptional(),
})

/**
 * Locks a name after a number of wrong secrets. Locks are stored, and hold on all servers; if servers share the
 * storage, so are counts: a name gets no more tries from several servers than from one. A name that nobody has is
 * counted and refused alike, so that a lock does not tell who exists: it is stored only for other servers.
 * docs/contract/lockout.md
 */
export class Lockouts {
  readonly #parts: LockoutParts
  readonly #hash: KeyedHash
  readonly #followed: FollowedRecords
  readonly #namesByMount = new Map<string, Names>()

  private constructor(parts: LockoutParts, hash: KeyedHash) {
    this.#parts = parts
    this.#hash = hash
    this.#followed = new FollowedRecords({
      view: parts.view,
      prefix,
      onFailure: parts.onFailure,
      known: () => this.#storedKeys(),
      apply: (found, gone) => {
        for (const record of found) this.#follow(record)
        for (const key of gone) this.#drop(mountIn(key), hashIn(key))
      },
    })
  }

  static async open(parts: LockoutParts): Promise<Lockouts> {
    const { view, random } = parts
    const lockouts = new Lockouts(parts, (await openKeyedHashes(view, random, 'lockout/keys', ['name'])).name)
    await lockouts.#followed.follow(async () => {})
    await lockouts.#followed.reread(undefined)
    return lockouts
  }

  /** Throws `denied` while the name is locked. */
  check({ mount, name }: LoginName): void {
    const terms = this.#termsOf(mount)
    const names = this.#namesByMount.get(mount.uuid)
    if (terms === undefined || names === undefined || isEmpty(names)) return
    const known = knownOf(names, this.#hashOf(name))
    if (known !== undefined && areLocking(known, terms, this.#parts.clock.now()))
      throw refuse('denied', 'permission denied', { reason: 'user_locked' })
  }

  /**
   * Counts a wrong secret. `exists`: somebody has the name. Resolves once a lock is durable, if this was one
   * too many.
   */
  async noteFailure({ mount, name }: LoginName, exists: boolean): Promise<void> {
    const terms = this.#termsOf(mount)
    if (terms === undefined) return
    const now = this.#parts.clock.now()
    const hash = this.#hashOf(name)
    const before = this.#known(mount.uuid, hash)
    // another login was quicker
    if (before !== undefined && areLocking(before, terms, now)) return
    const named = exists ? { name } : {}
    const failures = { ...withAnother(before, terms, now), ...named }
    // before the write, too: until it is durable, the name must not get further tries
    this.#remember(mount.uuid, hash, { ...failures, isStored: before?.isStored === true })
    const { shared, onLock } = this.#parts
    let isLocked = failures.locks
    if (shared !== undefined)
      isLocked = await this.#storeAnother({ mount: mount.uuid, hash, terms, now, named })
    else if (failures.locks && exists) await this.#store(mount.uuid, hash, failures)
    if (isLocked && exists) onLock({ mount, name })
    await this.#makeRoom(mount.uuid, terms, now)
  }

  /** Forgets the wrong secrets of a name that has logged in. A lock that has come meanwhile holds. */
  async noteLogin({ mount, name }: LoginName): Promise<void> {
    const names = this.#namesByMount.get(mount.uuid)
    if (names === undefined || isEmpty(names)) return
    const hash = this.#hashOf(name)
    const known = knownOf(names, hash)
    const terms = this.#termsOf(mount)
    const isLocking = (failures: Failures | undefined): boolean =>
      terms !== undefined && failures !== undefined && areLocking(failures, terms, this.#parts.clock.now())
    if (known === undefined || isLocking(known)) return
    if (!known.isStored) return this.#drop(mount.uuid, hash)
    // another server may have locked the name
    const kept = await this.#parts.view.update(keyOf(mount.uuid, hash), (stored) =>
      isLocking(readFailures(stored)) ? keep : undefined,
    )
    this.#followed.changed()
    const failures = readFailures(kept)
    if (failures === undefined) this.#drop(mount.uuid, hash)
    else this.#remember(mount.uuid, hash, { ...failures, isStored: true })
  }

  /** The locked names of a mount that somebody has or had, sorted. */
  lockedNames(mount: Mount): string[] {
    const terms = this.#termsOf(mount)
    const now = this.#parts.clock.now()
    if (terms === undefined) return []
    const known = [...(this.#namesByMount.get(mount.uuid)?.existing.values() ?? [])]
    return known
      .flatMap((one) => (one.name !== undefined && areLocking(one, terms, now) ? [one.name] : []))
      .sort()
  }

  unlock({ mount, name }: LoginName): Promise<void> {
    return this.#forget(mount.uuid, [this.#hashOf(name)])
  }

  /** Forgets what is known of the names of mounts. */
  async removeMounts(uuids: readonly string[]): Promise<void> {
    for (const uuid of uuids) {
      await this.#parts.view.deletePrefix(`${prefix}${uuid}/`)
      this.#followed.changed()
      this.#namesByMount.delete(uuid)
    }
  }

  /** Forgets what no longer counts. */
  async sweep(): Promise<void> {
    const now = this.#parts.clock.now()
    for (const [uuid, names] of this.#namesByMount) {
      const mount = this.#parts.mountOf(uuid)
      const terms = mount && (this.#termsOf(mount) ?? this.#parts.terms)
      if (terms === undefined) continue
      const past = [...names.existing, ...names.unknown].flatMap(([hash, known]) =>
        arePast(known, terms, now) ? [hash] : [],
      )
      for (let at = 0; at < past.length; at += sweepAtOnce)
        await this.#forget(uuid, past.slice(at, at + sweepAtOnce))
    }
  }

  #termsOf({ config }: Mount): LockoutTerms | undefined {
    return termsOf(this.#parts.terms, config.user_lockout_config)
  }

  #hashOf(name: string): string {
    return this.#hash(name, 'base64url')
  }

  #namesOf(mount: string): Names {
    const known = this.#namesByMount.get(mount)
    if (known !== undefined) return known
    const names: Names = { existing: new Map(), unknown: new Map() }
    this.#namesByMount.set(mount, names)
    return names
  }

  #known(mount: string, hash: string): Known | undefined {
    const names = this.#namesByMount.get(mount)
    return names && knownOf(names, hash)
  }

  /** Last, as the latest. */
  #remember(mount: string, hash: string, known: Known): void {
    const names = this.#namesOf(mount)
    this.#drop(mount, hash)
    ;(known.name === undefined ? names.unknown : names.existing).set(hash, known)
  }

  #drop(mount: string, hash: string): void {
    const names = this.#namesByMount.get(mount)
    names?.existing.delete(hash)
    names?.unknown.delete(hash)
  }

  async #store(mount: string, hash: string, failures: Failures): Promise<void> {
    await this.#parts.view.write([{ key: keyOf(mount, hash), value: failures }])
    this.#followed.changed()
    this.#remember(mount, hash, { ...failures, isStored: true })
  }

  /** Adds a failure to those that all servers have counted. Returns whether it locks the name. */
  async #storeAnother({ mount, hash, terms, now, named }: Another): Promise<boolean> {
    let isLocked = false
    const stored = await this.#parts.view.update(keyOf(mount, hash), (found) => {
      const before = readFailures(found)
      isLocked = false
      if (before !== undefined && areLocking(before, terms, now)) return keep
      const failures = withAnother(before, terms, now)
      isLocked = failures.locks
      return { ...failures, ...named }
    })
    this.#followed.changed()
    const failures = readFailures(stored)
    if (failures !== undefined) this.#learn(mount, hash, failures)
    return isLocked
  }

  async #forget(mount: string, hashes: readonly string[]): Promise<void> {
    const stored = hashes.filter((hash) => this.#known(mount, hash)?.isStored)
    if (stored.length > 0) {
      await this.#parts.view.write(stored.map((hash) => ({ key: keyOf(mount, hash), value: undefined })))
      this.#followed.changed()
    }
    for (const hash of hashes) this.#drop(mount, hash)
  }

  /** Forgets the oldest names that nobody has if there are too many, and those that no longer count. */
  async #makeRoom(mount: string, terms: LockoutTerms, now: number): Promise<void> {
    const { unknown } = this.#namesOf(mount)
    const { mostUnknown = mostUnknownNames } = this.#parts
    const gone: string[] = []
    for (const [hash, failures] of unknown) {
      if (unknown.size - gone.length <= mostUnknown && !arePast(failures, terms, now)) break
      if (gone.push(hash) === sweepAtOnce) break
    }
    if (gone.length > 0) await this.#forget(mount, gone)
  }

  /** What another server, or this one before its start, has stored. */
  #follow({ key, value }: ViewRecord): void {
    const failures = readFailures(value)
    if (failures === undefined) this.#parts.onFailure(new Error(`the record ${key} is not a lock`))
    else this.#learn(mountIn(key), hashIn(key), failures)
  }

  /** What is stored may lack the latest wrong secrets that were sent to this server. */
  #learn(mount: string, hash: string, stored: Counted): void {
    const known = this.#known(mount, hash)
    const isLatest =
      known !== undefined &&
      (known.locks || !stored.locks) &&
      (known.at > stored.at || (known.at === stored.at && known.count > stored.count))
    this.#remember(mount, hash, { ...stored, ...(isLatest ? known : {}), isStored: true })
  }

  *#storedKeys(): Iterable<string> {
    for (const [mount, { existing, unknown }] of this.#namesByMount)
      for (const [hash, { isStored }] of [...existing, ...unknown]) if (isStored) yield keyOf(mount, hash)
  }
}

/** A wrong secret. `named` is empty if nobody has the name. */
type Another = {
  readonly mount: string
  readonly hash: string
  readonly terms: LockoutTerms
  readonly now: number
  readonly named: { readonly name?: string }
}

const sweepAtOnce = 500

const keyOf = (mount: string, hash: string): string => `${prefix}${mount}/${hash}`
const mountIn = (key: string): string => key.slice(prefix.length, key.lastIndexOf('/'))
const hashIn = (key: string): string => key.slice(key.lastIndexOf('/') + 1)

const isEmpty = ({ existing, unknown }: Names): boolean => existing.size === 0 && unknown.size === 0

const knownOf = ({ existing, unknown }: Names, hash: string): Known | undefined =>
  existing.get(hash) ?? unknown.get(hash)

/** Undefined if there is no record, or one of another format. */
function readFailures(stored: unknown): Counted | undefined {
  const read = storedFailures.safeParse(stored)
  if (!read.success) return undefined
  const { at, count, locks, name } = read.data
  return { at, count, locks, ...(name !== undefined && { name }) }
}
