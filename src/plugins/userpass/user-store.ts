import type { View } from '../../core/barrier/view.ts'
import type { CacheUses } from '../../core/cache-use.ts'
import { RecordCache } from '../../core/record-cache.ts'
import { readUser, storedUser, type User } from './user.ts'

const maxCached = 10_000
const root = 'user/'

/** The users of one mount: stored in its view, with copies in memory. Names are in lower case. */
export class UserStore implements Disposable {
  readonly #view: View
  /** Also of names that nobody has: what a login reads must not tell who exists. */
  readonly #users = new RecordCache<{ readonly user: User | undefined }>(maxCached)
  readonly #unwatch: () => void

  constructor(view: View, caches: CacheUses) {
    this.#view = view
    this.#users.countIn(caches.of('login_roles'))
    this.#unwatch = view.watch(root, (keys) => this.#users.follow(keys, (key) => key.slice(root.length)))
  }

  [Symbol.dispose](): void {
    this.#unwatch()
  }

  async find(name: string): Promise<User | undefined> {
    const found = await this.#users.read(name, async () => {
      const stored = await this.#view.get(root + name)
      return { user: stored === undefined ? undefined : readUser(stored) }
    })
    return found?.user
  }

  /** `change` returns the new user for the stored one, or undefined to leave it; if it throws, nothing is written. */
  async change(name: string, change: (before: User | undefined) => User | undefined): Promise<void> {
    try {
      await this.#view.update(root + name, (stored) => {
        const after = change(stored === undefined ? undefined : readUser(stored))
        // fields of a later version are kept
        return after === undefined ? stored : { ...(stored as object | undefined), ...storedUser(after) }
      })
    } finally {
      this.#users.drop(name)
    }
  }

  async delete(name: string): Promise<void> {
    try {
      await this.#view.write([{ key: root + name, value: undefined }])
    } finally {
      this.#users.drop(name)
    }
  }

  /** Sorted. */
  async names(): Promise<string[]> {
    const keys = await this.#view.listKeys(root)
    return keys.map((key) => key.slice(root.length))
  }
}
