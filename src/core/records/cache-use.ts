import { CacheUse } from '../../lib/data/cache.ts'

/** The use of the caches of a server, by name. Caches with the same name count together. */
export class CacheUses {
  readonly #byName = new Map<string, CacheUse>()

  of(name: string): CacheUse {
    const use = this.#byName.get(name) ?? new CacheUse()
    this.#byName.set(name, use)
    return use
  }

  entries(): Iterable<readonly [string, Readonly<CacheUse>]> {
    return this.#byName
  }
}
