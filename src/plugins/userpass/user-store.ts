import { fail } from '../../errors.ts'
import { keep, type View, type ViewEntry } from '../../core/barrier/view.ts'
import type { CacheUses } from '../../core/cache-use.ts'
import { RecordCache } from '../../core/record-cache.ts'
import { pauseAfterAttempt, writeAttempts } from '../../core/stored-record.ts'
import { bcryptCost, isBcrypt } from './passwords/bcrypt.ts'
import { readUser, storedUser, type User } from './user.ts'

const maxCached = 10_000
const root = 'user/'
/** The names of the users with an imported hash, those with the highest cost first. */
const importedRoot = 'imported/'

/** The users of one mount: stored in its view, with copies in memory. Names are in lower case. */
export class UserStore implements Disposable {
  readonly #view: View
  /** Also of names that nobody has: what a login reads must not tell who exists. */
  readonly #users = new RecordCache<{ readonly user: User | undefined }>(maxCached)
  /** The highest cost of the imported hashes, under the key `''`. */
  readonly #highest = new RecordCache<{ readonly cost: number }>(1)
  readonly #unwatch: readonly (() => void)[]

  constructor(view: View, caches: CacheUses) {
    this.#view = view
    this.#users.countIn(caches.of('login_roles'))
    this.#unwatch = [
      view.watch(root, (keys) => this.#users.follow(keys, (key) => key.slice(root.length))),
      view.watch(importedRoot, () => this.#highest.dropAll()),
    ]
  }

  [Symbol.dispose](): void {
    for (const unwatch of this.#unwatch) unwatch()
  }

  async find(name: string): Promise<User | undefined> {
    const found = await this.#users.read(name, async () => {
      const stored = await this.#view.get(root + name)
      return { user: stored === undefined ? undefined : readUser(stored) }
    })
    return found?.user
  }

  /** The highest cost of the bcrypt hashes of all users; 0 without any. */
  async bcryptCost(): Promise<number> {
    const highest = await this.#highest.read('', async () => {
      const [first] = await this.#view.listKeys(importedRoot, { limit: 1 })
      return { cost: first === undefined ? 0 : costIn(first) }
    })
    return highest?.cost ?? 0
  }

  /** `change` returns the new user for the stored one; if it throws or returns nothing, nothing is written. */
  async change(name: string, change: (before: User | undefined) => User | undefined): Promise<void> {
    for (let attempt = 0; attempt < writeAttempts; attempt += 1) {
      const record = await this.#view.read(root + name)
      if (record !== undefined && (await this.#changeInPlace(name, change))) return
      const before = record && readUser(record.value)
      const after = change(before)
      if (after === undefined) return
      // fields of a later version are kept
      const value = { ...(record?.value as object | undefined), ...storedUser(after) }
      const entry = { key: root + name, value, expect: record?.revision ?? ('absent' as const) }
      if (await this.#write(name, [entry, ...importEntries(name, before, after)])) return
      await pauseAfterAttempt(attempt)
    }
    throw fail('unavailable', 'too many changes at a time')
  }

  /**
   * Changes a user without a change of an imported hash. Many such changes of one user share a commit. False,
   * without a write, for other changes.
   */
  async #changeInPlace(
    name: string,
    change: (before: User | undefined) => User | undefined,
  ): Promise<boolean> {
    let isDone = false
    try {
      await this.#view.update(root + name, (stored) => {
        isDone = false
        if (stored === undefined) return keep
        const before = readUser(stored)
        const after = change(before)
        if (after !== undefined && importEntries(name, before, after).length > 0) return keep
        isDone = true
        // fields of a later version are kept
        return after === undefined ? keep : { ...(stored as object), ...storedUser(after) }
      })
    } finally {
      this.#users.drop(name)
    }
    return isDone
  }

  async delete(name: string): Promise<void> {
    for (let attempt = 0; attempt < writeAttempts; attempt += 1) {
      const record = await this.#view.read(root + name)
      if (record === undefined) return
      const entry = { key: root + name, value: undefined, expect: record.revision }
      if (await this.#write(name, [entry, ...importEntries(name, readUser(record.value), undefined)])) return
      await pauseAfterAttempt(attempt)
    }
    throw fail('unavailable', 'too many changes at a time')
  }

  async #write(name: string, entries: readonly ViewEntry[]): Promise<boolean> {
    try {
      return await this.#view.write(entries)
    } finally {
      this.#users.drop(name)
      if (entries.length > 1) this.#highest.dropAll()
    }
  }

  /** Sorted. */
  async names(): Promise<string[]> {
    const keys = await this.#view.listKeys(root)
    return keys.map((key) => key.slice(root.length))
  }
}

/** What changes among the names with imported hashes. */
function importEntries(name: string, before: User | undefined, after: User | undefined): ViewEntry[] {
  const [old, now] = [before, after].map((user) =>
    user !== undefined && isBcrypt(user.passwordHash) ? importedKey(name, user.passwordHash) : undefined,
  )
  if (old === now) return []
  return [
    ...(old === undefined ? [] : [{ key: old, value: undefined }]),
    ...(now === undefined ? [] : [{ key: now, value: true }]),
  ]
}

const greatestCost = 99
const importedKey = (name: string, hash: string): string =>
  `${importedRoot}${greatestCost - bcryptCost(hash)}/${name}`
const costIn = (key: string): number =>
  greatestCost - Number(key.slice(importedRoot.length, importedRoot.length + 2))
