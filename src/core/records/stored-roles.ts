import { Cache } from '../../lib/data/cache.ts'
import { keep, type View } from '../barrier/view.ts'
import type { CacheUses } from './cache-use.ts'

export type StoredRolesParts<Role> = {
  /** The mount's own; it keeps the text of numbers. */
  readonly view: View
  /** In front of the names. */
  readonly prefix: string
  /** Parses a stored record. */
  read(name: string, stored: unknown): Role
  readonly caches: CacheUses | undefined
}

/**
 * Roles of one kind of a mount: stored in its view, with parsed copies in memory, which follow the writes of other
 * servers. Names are lower-case.
 */
export class StoredRoles<Role> implements Disposable {
  readonly #parts: StoredRolesParts<Role>
  readonly #unwatch: () => void
  readonly #roles = new Cache<Role>({ name: 'login roles', most: 10_000, mostWeight: 16 * 1024 * 1024 })
  /** Names without a role: a caller who names one again costs no read. They must not push out roles. */
  readonly #absent = new Cache<true>({ name: 'names without a login role', most: 1_000, mostWeight: 100_000 })
  /** The names of all roles, under the key `''`. */
  readonly #names = new Cache<readonly string[]>({
    name: 'names of login roles',
    most: 1,
    mostWeight: 2_000_000,
  })

  constructor(parts: StoredRolesParts<Role>) {
    const { view, prefix, caches } = parts
    this.#parts = parts
    if (caches !== undefined) this.#roles.countIn(caches.of('login_roles'))
    this.#unwatch = view.watch(prefix, (keys) => {
      for (const cache of [this.#roles, this.#absent]) cache.follow(keys, (key) => key.slice(prefix.length))
      this.#names.dropAll()
    })
  }

  /** The key of the record, from the root of the storage. */
  recordKey(name: string): string {
    return this.#parts.view.fromRoot({ key: this.#key(name), value: undefined }).key
  }

  async find(name: string): Promise<Role | undefined> {
    if (this.#absent.get(name)) return undefined
    const { view, read } = this.#parts
    return await this.#roles.read(name, async () => {
      const { drops } = this.#absent
      const stored = await view.get(this.#key(name))
      if (stored !== undefined) return read(name, stored)
      this.#absent.set(name, true, drops)
      return undefined
    })
  }

  /**
   * `change` returns the new record for the stored one; if it throws, nothing is written. Returns the role as
   * written. Fields of a later version are kept.
   */
  async change(name: string, change: (before: Role | undefined) => object): Promise<Role> {
    const { view, read } = this.#parts
    try {
      const stored = await view.update(this.#key(name), (current) => ({
        ...(typeof current === 'object' ? current : {}),
        ...change(current === undefined ? undefined : read(name, current)),
      }))
      return read(name, stored)
    } finally {
      this.#drop(name)
    }
  }

  /** If `check` throws, nothing is deleted. Without it, a role that cannot be read is deleted too. */
  async delete(name: string, check?: (before: Role | undefined) => void): Promise<void> {
    const { view, read } = this.#parts
    const key = this.#key(name)
    try {
      if (check === undefined) await view.write([{ key, value: undefined }])
      else
        await view.update(key, (current) => {
          check(current === undefined ? undefined : read(name, current))
          return current === undefined ? keep : undefined
        })
    } finally {
      this.#drop(name)
    }
  }

  /** All of them, in no particular order. */
  async all(): Promise<Role[]> {
    const { view, prefix, read } = this.#parts
    const records = await view.list(prefix)
    return records.map(({ key, value }) => read(key.slice(prefix.length), value))
  }

  /** Sorted. */
  async names(): Promise<readonly string[]> {
    const { view, prefix } = this.#parts
    return this.#names.read('', async () => {
      const keys = await view.listKeys(prefix)
      return keys.map((key) => key.slice(prefix.length))
    })
  }

  #key(name: string): string {
    return this.#parts.prefix + name
  }

  #drop(name: string): void {
    this.#roles.drop(name)
    this.#absent.drop(name)
    this.#names.dropAll()
  }

  [Symbol.dispose](): void {
    this.#unwatch()
  }
}
