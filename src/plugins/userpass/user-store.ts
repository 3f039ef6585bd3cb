import type { View, ViewEntry } from '../../core/barrier/view.ts'
import type { CacheUses } from '../../core/records/cache-use.ts'
import { Changes, type Write } from '../../core/records/change.ts'
import { type KeyedHash, openKeyedHashes } from '../../core/records/keyed-hash.ts'
import { moveRecords } from '../../core/sealed-names/moved-records.ts'
import { Cache } from '../../lib/data/cache.ts'
import { Loaded } from '../../lib/data/loaded.ts'
import type { Random } from '../../lib/system/random.ts'
import { bcryptCost, isBcrypt } from './passwords/bcrypt.ts'
import { nameOf, readUser, storedUser, type User } from './user.ts'

const root = 'u/'
/** The users with an imported hash, those with the highest cost first. */
const importedRoot = 'i/'
/** Where an earlier version stored the same, under names in clear. */
const [clearRoot, clearImportedRoot] = ['user/', 'imported/']

/**
 * The users of one mount: stored in its view under keyed hashes of their names, with copies in memory. Names are in
 * lower case. docs/contract/userpass.md#what-is-stored
 */
export class UserStore implements Disposable {
  readonly #view: View
  readonly #random: Random
  /** By the hash of the name. */
  readonly #changes: Changes
  /** Opens after users of an earlier version have moved to their new keys. */
  readonly #hash = new Loaded(() => this.#open())
  /** Also of names that nobody has: what a login reads must not tell who exists. */
  readonly #users = new Cache<{ readonly user: User | undefined }>({ name: 'users', most: 10_000 })
  /** The highest cost of the imported hashes, under the key `''`. */
  readonly #highest = new Cache<number>({ name: 'highest bcrypt cost', most: 1 })
  readonly #unwatch: readonly (() => void)[]

  constructor(view: View, { caches, random }: { readonly caches: CacheUses; readonly random: Random }) {
    this.#view = view
    this.#random = random
    this.#changes = new Changes({ view, tooMany: 'too many changes at a time' })
    this.#users.countIn(caches.of('login_roles'))
    this.#unwatch = [
      view.watch(root, (keys) => this.#users.follow(keys, (key) => key.slice(root.length))),
      view.watch(importedRoot, () => this.#highest.dropAll()),
    ]
  }

  [Symbol.dispose](): void {
    for (const unwatch of this.#unwatch) unwatch()
  }

  /** The key of the record, from the root of the storage. */
  async recordKey(name: string): Promise<string> {
    return this.#view.fromRoot({ key: root + (await this.#hashOf(name)), value: undefined }).key
  }

  async #hashOf(name: string): Promise<string> {
    return (await this.#hash.get())(name, 'base64url')
  }

  async #open(): Promise<KeyedHash> {
    const { name: hash } = await openKeyedHashes(this.#view, this.#random, 'keys', ['name'])
    await moveRecords(this.#view, clearImportedRoot, ({ key, value }) => {
      const [cost = '', name = ''] = key.slice(clearImportedRoot.length).split('/')
      return { key: `${importedRoot}${cost}/${hash(name, 'base64url')}`, value }
    })
    await moveRecords(this.#view, clearRoot, ({ key, value }) => {
      const name = key.slice(clearRoot.length)
      return { key: root + hash(name, 'base64url'), value: { ...(value as object), name } }
    })
    return hash
  }

  async find(name: string): Promise<User | undefined> {
    const hash = await this.#hashOf(name)
    const found = await this.#users.read(hash, async () => {
      const stored = await this.#view.get(root + hash)
      return { user: stored === undefined ? undefined : readUser(stored) }
    })
    return found?.user
  }

  /** The highest cost of the bcrypt hashes of all users; 0 without any. */
  async bcryptCost(): Promise<number> {
    await this.#hashOf('')
    return this.#highest.read('', async () => {
      const [first] = await this.#view.listKeys(importedRoot, { limit: 1 })
      return first === undefined ? 0 : costIn(first)
    })
  }

  /** `change` returns the new user for the stored one; if it throws or returns nothing, nothing is written. */
  async change(name: string, change: (before: User | undefined) => User | undefined): Promise<void> {
    const hash = await this.#hashOf(name)
    await this.#changes.run(hash, async (write) => {
      const record = await this.#view.read(root + hash)
      const before = record && readUser(record.value)
      const after = change(before)
      if (after === undefined) return
      // fields of a later version are kept
      const value = { ...(record?.value as object | undefined), ...storedUser(after), name }
      const entry = { key: root + hash, value, expect: record?.revision ?? ('absent' as const) }
      await this.#write(hash, [entry, ...importEntries(hash, before, after)], write)
    })
  }

  async delete(name: string): Promise<void> {
    const hash = await this.#hashOf(name)
    await this.#changes.run(hash, async (write) => {
      const record = await this.#view.read(root + hash)
      if (record === undefined) return
      const entry = { key: root + hash, value: undefined, expect: record.revision }
      await this.#write(hash, [entry, ...importEntries(hash, readUser(record.value), undefined)], write)
    })
  }

  async #write(hash: string, entries: readonly ViewEntry[], write: Write): Promise<void> {
    try {
      await write(entries)
    } finally {
      this.#users.drop(hash)
      if (entries.length > 1) this.#highest.dropAll()
    }
  }

  /** Sorted. */
  async names(): Promise<string[]> {
    await this.#hashOf('')
    const names: string[] = []
    for await (const page of this.#view.pages(root)) names.push(...page.map(({ value }) => nameOf(value)))
    return names.sort()
  }
}

/** The entries that keep the list of users with imported hashes. */
function importEntries(nameHash: string, before: User | undefined, after: User | undefined): ViewEntry[] {
  const [old, now] = [before, after].map((user) =>
    user !== undefined && isBcrypt(user.passwordHash) ? importedKey(nameHash, user.passwordHash) : undefined,
  )
  if (old === now) return []
  return [
    ...(old === undefined ? [] : [{ key: old, value: undefined }]),
    ...(now === undefined ? [] : [{ key: now, value: true }]),
  ]
}

const greatestCost = 99
const importedKey = (nameHash: string, hash: string): string =>
  `${importedRoot}${greatestCost - bcryptCost(hash)}/${nameHash}`
const costIn = (key: string): number =>
  greatestCost - Number(key.slice(importedRoot.length, importedRoot.length + 2))
