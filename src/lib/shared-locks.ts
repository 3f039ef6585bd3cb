import { SharedLock } from './shared-lock.ts'

/** A `SharedLock` for each key. Keys without work take no memory. */
export class SharedLocks {
  readonly #byKey = new Map<string, { readonly lock: SharedLock; users: number }>()

  runShared<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.#use(key, (lock) => lock.runShared(work))
  }

  /** The work must not wait for further work of this lock. */
  runAlone<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.#use(key, (lock) => lock.runAlone(work))
  }

  async #use<T>(key: string, run: (lock: SharedLock) => Promise<T>): Promise<T> {
    const used = this.#byKey.get(key) ?? { lock: new SharedLock(), users: 0 }
    this.#byKey.set(key, used)
    used.users += 1
    try {
      return await run(used.lock)
    } finally {
      used.users -= 1
      if (used.users === 0) this.#byKey.delete(key)
    }
  }
}
