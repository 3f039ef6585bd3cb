import { z } from 'zod'
import { refuse } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import type { SharedStorage } from '../../storage/shared-storage.ts'
import type { View, ViewEntry, ViewRecord } from '../barrier/view.ts'
import { FollowedRecords } from '../followed-records.ts'
import { type KeyedHash, openKeyedHashes } from '../keyed-hash.ts'
import type { Mount } from '../mounts/mount.ts'
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
}

/** Who logs in: a user's name in lower case, or a role id. */
export type LoginName = { readonly mount: Mount; readonly name: string }

/** A lock in storage. `name` is absent if nobody has it. */
type Lock = Failures & { readonly name?: string }

/** What is known of the names of one mount, by their keyed hashes. */
type Names = {
  /** Not locked, or known to this server alone; the ones with the latest failure last. */
  readonly counted: Map<string, Failures>
  /** Locked in storage. */
  readonly locked: Map<string, Lock>
}

const prefix = 'lockout/lock/'
/** The most names of a mount that are counted, and the most names that nobody has that are locked. */
const mostNames = 100_000

const storedLock = z.looseObject({ at: z.number(), name: z.string().exactOptional() })

/**
 * Locks a name after a number of wrong secrets. Each server counts for itself; a lock is stored, and holds on
 * all of them. A name that nobody has is counted and refused alike, so that a lock does not tell who exists:
 * its lock is stored only for other servers. docs/contract/lockout.md
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
      ...{ view: parts.view, prefix, onFailure: parts.onFailure },
      known: () => this.#lockKeys(),
      apply: (found, gone) => {
        for (const record of found) this.#follow(record)
        for (const key of gone) this.#namesByMount.get(mountIn(key))?.locked.delete(hashIn(key))
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
    const hash = this.#hashOf(name)
    const failures = names.counted.get(hash) ?? names.locked.get(hash)
    if (failures !== undefined && areLocking(failures, terms, this.#parts.clock.now()))
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
    const names = this.#namesOf(mount.uuid)
    const hash = this.#hashOf(name)
    const before = names.counted.get(hash) ?? names.locked.get(hash)
    // another login was quicker
    if (before !== undefined && areLocking(before, terms, now)) return
    const failures = withAnother(before, terms, now)
    this.#makeRoom(names.counted, terms, now)
    // last, as the latest
    names.counted.delete(hash)
    names.counted.set(hash, failures)
    if (failures.locks && exists) this.#parts.onLock({ mount, name })
    if (failures.locks && (exists || this.#parts.shared !== undefined))
      await this.#store(mount, hash, { ...failures, ...(exists && { name }) })
  }

  /** Forgets the wrong secrets of a name that has logged in. A lock that has come meanwhile holds. */
  async noteLogin({ mount, name }: LoginName): Promise<void> {
    const names = this.#namesByMount.get(mount.uuid)
    if (names === undefined || isEmpty(names)) return
    const hash = this.#hashOf(name)
    const terms = this.#termsOf(mount)
    const failures = names.counted.get(hash) ?? names.locked.get(hash)
    const isLocked =
      terms !== undefined && failures !== undefined && areLocking(failures, terms, this.#parts.clock.now())
    if (!isLocked) await this.#forget(mount.uuid, [hash])
  }

  /** The locked names of a mount that somebody has or had, sorted. */
  lockedNames(mount: Mount): string[] {
    const terms = this.#termsOf(mount)
    const now = this.#parts.clock.now()
    if (terms === undefined) return []
    const locks = [...(this.#namesByMount.get(mount.uuid)?.locked.values() ?? [])]
    return locks
      .flatMap((lock) => (lock.name !== undefined && areLocking(lock, terms, now) ? [lock.name] : []))
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

  /** Deletes the locks that have ended, once they no longer count. */
  async sweep(): Promise<void> {
    const now = this.#parts.clock.now()
    for (const [uuid, { locked }] of this.#namesByMount) {
      const mount = this.#parts.mountOf(uuid)
      const terms = mount && (this.#termsOf(mount) ?? this.#parts.terms)
      if (terms === undefined) continue
      const past = [...locked].flatMap(([hash, lock]) => (arePast(lock, terms, now) ? [hash] : []))
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
    const names: Names = { counted: new Map(), locked: new Map() }
    this.#namesByMount.set(mount, names)
    return names
  }

  /** Before the write, too: until it is durable, the name must not get further tries. */
  async #store(mount: Mount, hash: string, lock: Lock): Promise<void> {
    const names = this.#namesOf(mount.uuid)
    const { at, name } = lock
    const value = { at, ...(name !== undefined && { name }) }
    const oldest = lock.name === undefined ? oldestOfNobody(names.locked) : undefined
    const gone = oldest === undefined ? [] : [entryOf(mount.uuid, oldest, undefined)]
    await this.#parts.view.write([...gone, entryOf(mount.uuid, hash, value)])
    this.#followed.changed()
    if (oldest !== undefined) names.locked.delete(oldest)
    names.locked.set(hash, lock)
    names.counted.delete(hash)
  }

  async #forget(mount: string, hashes: readonly string[]): Promise<void> {
    const names = this.#namesByMount.get(mount)
    if (names === undefined) return
    const stored = hashes.filter((hash) => names.locked.has(hash))
    if (stored.length > 0) {
      await this.#parts.view.write(stored.map((hash) => entryOf(mount, hash, undefined)))
      this.#followed.changed()
    }
    for (const hash of hashes) {
      names.locked.delete(hash)
      names.counted.delete(hash)
    }
  }

  #makeRoom(counted: Map<string, Failures>, terms: LockoutTerms, now: number): void {
    for (const [hash, failures] of counted) {
      if (counted.size < mostNames && !arePast(failures, terms, now)) return
      counted.delete(hash)
    }
  }

  /** A lock that another server, or this one before its start, has stored. */
  #follow({ key, value }: ViewRecord): void {
    const stored = storedLock.safeParse(value)
    if (!stored.success) {
      this.#parts.onFailure(new Error(`the record ${key} is not a lock`))
      return
    }
    const { at, name } = stored.data
    const { locked, counted } = this.#namesOf(mountIn(key))
    const hash = hashIn(key)
    locked.set(hash, { count: 0, at, locks: true, ...(name !== undefined && { name }) })
    if ((counted.get(hash)?.at ?? 0) <= at) counted.delete(hash)
  }

  *#lockKeys(): Iterable<string> {
    for (const [mount, { locked }] of this.#namesByMount)
      for (const hash of locked.keys()) yield `${prefix}${mount}/${hash}`
  }
}

const sweepAtOnce = 500

const entryOf = (mount: string, hash: string, value: object | undefined): ViewEntry => ({
  key: `${prefix}${mount}/${hash}`,
  value,
})

const mountIn = (key: string): string => key.slice(prefix.length, key.lastIndexOf('/'))
const hashIn = (key: string): string => key.slice(key.lastIndexOf('/') + 1)

const isEmpty = ({ counted, locked }: Names): boolean => counted.size === 0 && locked.size === 0

/** The oldest lock of a name that nobody has, if there are too many. */
function oldestOfNobody(locked: ReadonlyMap<string, Lock>): string | undefined {
  if (locked.size < mostNames) return undefined
  for (const [hash, { name }] of locked) if (name === undefined) return hash
  return undefined
}
