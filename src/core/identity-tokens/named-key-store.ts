import type { CryptoKey } from 'jose'
import { fail, refuse } from '../../errors.ts'
import { KeyedMutex } from '../../lib/concurrency/keyed-mutex.ts'
import { Limiter } from '../../lib/concurrency/limiter.ts'
import { Cache } from '../../lib/data/cache.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { Random } from '../../lib/system/random.ts'
import { quoted } from '../../lib/text/go-text.ts'
import type { View, ViewEntry, ViewRecord } from '../barrier/view.ts'
import { type Changes, type Write, writeAttempts } from '../records/change.ts'
import { type DueRotation, dueKey, namedKeyKey, roleOfKeyKey } from './issuer-keys.ts'
import type { KeyMounts } from './key-mounts.ts'
import {
  changedSettings,
  defaultKeyName,
  defaultKeySettings,
  type FreshKeys,
  isFullOfFormerKeys,
  type KeySettings,
  type NamedKey,
  readNamedKey,
  rotated,
  type SentKeySettings,
  withSettings,
} from './named-key.ts'
import { newSigningKey, type SigningAlgorithm, signerOf } from './signing-key.ts'

/** What decides whether mounts allow a change of a key. */
export type KeyRules = 'checkSettings' | 'checkUnused' | 'whileUnchanged'

export type NamedKeyStoreParts = {
  /** The storage root, with plain numbers. */
  readonly view: View
  readonly clock: Clock
  readonly random: Random
  /** By mount: of its keys and their roles, which depend on each other. */
  readonly changes: Changes
  /** The mounts whose tokens the keys sign. */
  readonly keyMounts: Pick<KeyMounts, KeyRules>
  /** Called when the keys of a mount may have changed. */
  onChange(mount: string): void
}

/** A key with its imported private key. */
export type ReadyKey = { readonly key: NamedKey; readonly signer: CryptoKey }

/** Returns the new key, or undefined to delete it. May run again. */
type KeyChange = (before: NamedKey | undefined) => Promise<NamedKey | undefined>

/** How many keys get their pairs at a time, and how many of one mount. */
const madeTogether = 2
/** Limits on waiting for one of these places. */
const makingBounds = { most: 64, refusal: () => refuse('overloaded', 'server is overloaded') }

type MadeKeys = FreshKeys & { readonly algorithm: SigningAlgorithm }

/** A change needs new key pairs. It is decided again once there are some. */
class KeysNeeded extends Error {
  readonly algorithm: SigningAlgorithm

  constructor(algorithm: SigningAlgorithm) {
    super('new key pairs are needed')
    this.algorithm = algorithm
  }
}

/**
 * Stores the named keys of all issuers; `mount` is the UUID of an identity mount.
 * docs/contract/identity-tokens.md#keys
 */
export class NamedKeyStore {
  readonly #parts: NamedKeyStoreParts
  readonly #ready = new Cache<ReadyKey>({ name: 'signing keys', most: 2_000 })
  /** Signatures of logins are checked by the same threads. */
  readonly #making = new Limiter(madeTogether)
  /** By mount and place, so that no mount waits for all the keys of another. */
  readonly #makers = new KeyedMutex()
  #nextPlace = 0
  /** By mount: makes `default`. */
  readonly #defaults = new KeyedMutex()

  constructor(parts: NamedKeyStoreParts) {
    this.#parts = parts
  }

  /** The key of the record, from the root of the storage. */
  recordKey(mount: string, name: string): string {
    return namedKeyKey(mount, name)
  }

  find(mount: string, name: string): Promise<ReadyKey | undefined> {
    const at = namedKeyKey(mount, name)
    return this.#ready.read(at, async () => {
      const value = await this.#parts.view.get(at)
      if (value === undefined) return undefined
      const key = readNamedKey(value)
      return { key, signer: await signerOf(key.signing) }
    })
  }

  /** Drops the copy of a record that has been written by any server; undefined: all copies. */
  follow(written: readonly string[] | undefined): void {
    this.#ready.follow(written)
  }

  /** The key `default` always exists; its key pairs are created when a role first needs them. */
  async settingsOf(mount: string, name: string): Promise<KeySettings | undefined> {
    return (await this.find(mount, name))?.key ?? (name === defaultKeyName ? defaultKeySettings : undefined)
  }

  /** Sorted. */
  async names(mount: string): Promise<string[]> {
    const names = await this.#storedNames(mount)
    return names.includes(defaultKeyName) ? names : [...names, defaultKeyName].sort()
  }

  /** The keys that a role uses. */
  async used(mount: string): Promise<ReadyKey[]> {
    const used: ReadyKey[] = []
    for (const name of await this.#storedNames(mount)) {
      const key = (await this.#isUsed(mount, name)) ? await this.find(mount, name) : undefined
      if (key !== undefined) used.push(key)
    }
    return used
  }

  /** Finds a key, and creates the key pairs of `default` if they are missing. Throws `invalid`. */
  async ready(mount: string, name: string): Promise<ReadyKey> {
    const found = await this.find(mount, name)
    if (found !== undefined) return found
    if (name === defaultKeyName) await this.makeDefault(mount)
    const made = await this.find(mount, name)
    if (made === undefined) throw refuse('invalid', `cannot find key ${quoted(name)}`)
    return made
  }

  /** Creates a key, or updates the given settings. */
  async write(mount: string, name: string, sent: SentKeySettings): Promise<void> {
    await this.#withFreshKeys(mount, (freshKeys) =>
      this.#changeWhileMountsStay(mount, name, async (before) => {
        const known = before ?? (name === defaultKeyName ? defaultKeySettings : undefined)
        const settings = changedSettings(name, known, sent, await this.#longestRoleTtl(mount, name))
        await this.#parts.keyMounts.checkSettings(mount, name, settings)
        const fresh = before?.algorithm === settings.algorithm ? undefined : freshKeys(settings.algorithm)
        return withSettings(before, settings, fresh, this.#parts.clock.now())
      }),
    )
  }

  /** Removes a key. Throws if a role uses it; does nothing if it does not exist. */
  remove(mount: string, name: string): Promise<void> {
    if (name === defaultKeyName) throw refuse('invalid', `deletion of key ${quoted(name)} not allowed`)
    return this.#changeWhileMountsStay(mount, name, async () => {
      const roles = await this.#namesBelow(roleOfKeyKey(mount, name, ''))
      if (roles.length === 0) {
        this.#parts.keyMounts.checkUnused(mount, name)
        return undefined
      }
      throw refuse(
        'invalid',
        `unable to delete key ${quoted(name)} because it is currently referenced by these roles: ${roles.join(', ')}`,
      )
    })
  }

  /**
   * Promotes the next key pair. The former one stays published for `verificationTtl` seconds, by default that
   * of the key.
   */
  async rotate(mount: string, name: string, verificationTtl: number | undefined): Promise<void> {
    if (name === defaultKeyName) await this.makeDefault(mount)
    await this.#change(mount, name, async (before) => {
      if (before === undefined) throw refuse('invalid', `no named key found at ${quoted(name)}`)
      const now = this.#parts.clock.now()
      if (verificationTtl !== 0 && isFullOfFormerKeys(before, now))
        throw refuse(
          'invalid',
          `too many former keys of ${quoted(name)} are still published; rotate with verification_ttl 0 or wait`,
        )
      return this.#rotated(before, verificationTtl ?? before.verification_ttl)
    })
  }

  /**
   * Performs a scheduled rotation. False if it is obsolete: concurrent attempts rotate once, because the
   * first one changes `next_rotation`.
   */
  async rotateDue(due: DueRotation): Promise<boolean> {
    let didRotate = false
    await this.#change(due.mount, due.name, async (before) => {
      didRotate = before !== undefined && before.next_rotation === due.at
      return before !== undefined && didRotate ? this.#rotated(before, before.verification_ttl) : before
    })
    // left over from a key that was deleted or rotated on request
    if (!didRotate) await this.#parts.view.write([{ key: dueKey(due), value: undefined }])
    return didRotate
  }

  /** The stored record of a key. */
  stored(mount: string, name: string): Promise<ViewRecord | undefined> {
    return this.#parts.view.read(namedKeyKey(mount, name))
  }

  /** Creates the key pairs of `default` if they are missing. Must not be called in a change of the mount. */
  makeDefault(mount: string): Promise<void> {
    return this.#defaults.runExclusive(mount, async () => {
      if ((await this.stored(mount, defaultKeyName)) !== undefined) return
      const fresh = await this.#freshKeys(mount, defaultKeySettings.algorithm)
      await this.#change(
        mount,
        defaultKeyName,
        async (before) =>
          before ?? withSettings(undefined, defaultKeySettings, fresh, this.#parts.clock.now()),
      )
    })
  }

  /**
   * Runs a change that may need new key pairs. They are made while it holds nothing, so that no other change waits
   * for them; then it runs again.
   */
  async #withFreshKeys(
    mount: string,
    change: (freshKeys: (algorithm: SigningAlgorithm) => FreshKeys) => Promise<void>,
  ): Promise<void> {
    let fresh: MadeKeys | undefined
    for (let attempt = 0; attempt < writeAttempts; attempt++) {
      try {
        return await change((algorithm) => {
          if (fresh?.algorithm !== algorithm) throw new KeysNeeded(algorithm)
          return fresh
        })
      } catch (error) {
        if (!(error instanceof KeysNeeded)) throw error
        fresh = await this.#freshKeys(mount, error.algorithm)
      }
    }
    throw fail('unavailable', 'too many changes to one key at a time')
  }

  /**
   * Reads, changes and writes one key and its scheduled rotation. `change` returns the new key, or undefined
   * to delete it; it may run again. The caches are dropped even if the write fails, because it may have been
   * stored.
   */
  async #change(mount: string, name: string, change: KeyChange): Promise<void> {
    try {
      await this.#parts.changes.run(mount, (write) => this.#decide(mount, name, change, write))
    } finally {
      this.#drop(mount, name)
    }
  }

  /** Like `#change`, for a change that depends on the mounts that use the key. */
  async #changeWhileMountsStay(mount: string, name: string, change: KeyChange): Promise<void> {
    const { changes, keyMounts } = this.#parts
    try {
      await changes.run(mount, () =>
        keyMounts.whileUnchanged((write) => this.#decide(mount, name, change, write)),
      )
    } finally {
      this.#drop(mount, name)
    }
  }

  async #decide(mount: string, name: string, change: KeyChange, write: Write): Promise<void> {
    const at = namedKeyKey(mount, name)
    const record = await this.stored(mount, name)
    const before = record === undefined ? undefined : readNamedKey(record.value)
    const after = await change(before)
    if (after === before) return
    await write([
      { key: at, value: after, expect: record?.revision ?? 'absent' },
      ...dueEntries(mount, name, before, after),
    ])
  }

  #drop(mount: string, name: string): void {
    this.#ready.drop(namedKeyKey(mount, name))
    this.#parts.onChange(mount)
  }

  async #rotated(key: NamedKey, verificationTtl: number): Promise<NamedKey> {
    const next = await newSigningKey(key.algorithm, this.#parts.random)
    return rotated(key, next, verificationTtl, this.#parts.clock.now())
  }

  #freshKeys(mount: string, algorithm: SigningAlgorithm): Promise<MadeKeys> {
    const make = async () => {
      const [signing, next] = await Promise.all([
        newSigningKey(algorithm, this.#parts.random),
        newSigningKey(algorithm, this.#parts.random),
      ])
      return { algorithm, signing, next }
    }
    this.#nextPlace = (this.#nextPlace + 1) % madeTogether
    return this.#makers.runWithin(makingBounds, `${mount}/${this.#nextPlace}`, () => this.#making.run(make))
  }

  #storedNames(mount: string): Promise<string[]> {
    return this.#namesBelow(namedKeyKey(mount, ''))
  }

  async #isUsed(mount: string, name: string): Promise<boolean> {
    return (await this.#parts.view.listKeys(roleOfKeyKey(mount, name, ''), { limit: 1 })).length > 0
  }

  async #namesBelow(prefix: string): Promise<string[]> {
    return (await this.#parts.view.listKeys(prefix)).map((key) => key.slice(prefix.length))
  }

  async #longestRoleTtl(mount: string, name: string): Promise<number> {
    const prefix = roleOfKeyKey(mount, name, '')
    let longest = 0
    for await (const page of this.#parts.view.pages(prefix))
      for (const { value } of page) if (typeof value === 'number') longest = Math.max(longest, value)
    return longest
  }
}

function dueEntries(
  mount: string,
  name: string,
  before: NamedKey | undefined,
  after: NamedKey | undefined,
): ViewEntry[] {
  if (before?.next_rotation === after?.next_rotation) return []
  const removed =
    before === undefined ? [] : [{ key: dueKey({ at: before.next_rotation, mount, name }), value: undefined }]
  return after === undefined
    ? removed
    : [...removed, { key: dueKey({ at: after.next_rotation, mount, name }), value: true }]
}
