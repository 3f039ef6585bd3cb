import { CacheUse } from './cache-use.ts'

/**
 * Caches at most `limit` stored records, and prefers recently used ones. Code that changes a record calls
 * `drop` after the commit, so a copy is never older than the last acknowledged write of this server. What
 * other servers write is reported: `follow` (docs/replicas.md#copies).
 *
 * Records with more text than `maxText` are not cached, which bounds memory. `own` returns the part of a
 * value whose text counts, if copies share the rest.
 *
 * It has two generations. A used record moves to the young one; when that holds half of the limit, the old
 * one is dropped. Unlike `lru-cache`, it reorders nothing on a hit and allocates nothing up front: most mounts
 * have a large cache with few records.
 */
export class RecordCache<Value extends object> {
  readonly #half: number
  readonly #maxText: number
  readonly #own: (value: Value) => object
  #young = new Map<string, Value>()
  #old = new Map<string, Value>()
  #drops = 0
  #use = new CacheUse()

  constructor(
    limit: number,
    maxText = Number.POSITIVE_INFINITY,
    own: (value: Value) => object = (value) => value,
  ) {
    this.#half = Math.ceil(limit / 2)
    this.#maxText = maxText
    this.#own = own
  }

  /** Counts in `use`, from now on, how often a record is found, and how often `read` has to load one. */
  countIn(use: CacheUse): this {
    this.#use = use
    return this
  }

  get(key: string): Value | undefined {
    const copy = this.#young.get(key)
    if (copy !== undefined) {
      this.#use.hits += 1
      return copy
    }
    const old = this.#old.get(key)
    if (old === undefined) return undefined
    this.#use.hits += 1
    this.#insert(key, old)
    return old
  }

  /**
   * The number of drops so far. Pass the number from before a read to `set`, so that a record that was
   * changed in between is not cached.
   */
  get drops(): number {
    return this.#drops
  }

  set(key: string, value: Value, drops = this.#drops): void {
    if (
      drops === this.#drops &&
      (this.#maxText === Number.POSITIVE_INFINITY ||
        textLeft(this.#own(value), this.#maxText - key.length) >= 0)
    )
      this.#insert(key, value)
  }

  #insert(key: string, value: Value): void {
    if (this.#young.size >= this.#half && !this.#young.has(key)) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, value)
  }

  drop(key: string): void {
    this.#drops += 1
    this.#young.delete(key)
    this.#old.delete(key)
  }

  dropAll(): void {
    this.#drops += 1
    this.#young = new Map()
    this.#old = new Map()
  }

  /** Drops the copies that `isOutdated` selects. */
  dropWhere(isOutdated: (value: Value) => boolean): void {
    this.#drops += 1
    for (const copies of [this.#young, this.#old])
      for (const [key, value] of copies) if (isOutdated(value)) copies.delete(key)
  }

  /**
   * Drops the copies of records that the storage reports as changed: those of `keys`, or all if that is
   * undefined. `keyOf` returns the key in this cache.
   */
  follow(keys: readonly string[] | undefined, keyOf = (key: string): string => key): void {
    if (keys === undefined) this.dropAll()
    else for (const key of keys) this.drop(keyOf(key))
  }

  /**
   * Returns the cached record or loads it; caches it if `isCacheable` and if nothing was dropped in the
   * meantime.
   */
  async read(
    key: string,
    load: () => Promise<Value | undefined>,
    isCacheable: (value: Value) => boolean = () => true,
  ): Promise<Value | undefined> {
    const copy = this.get(key)
    if (copy !== undefined) return copy
    this.#use.misses += 1
    const drops = this.#drops
    const value = await load()
    if (value !== undefined && isCacheable(value)) this.set(key, value, drops)
    return value
  }
}

/**
 * `limit` minus the length of all text in a record, including member names; negative if the text exceeds it.
 */
function textLeft(record: object, limit: number): number {
  let left = limit
  for (const [name, value] of Object.entries(record)) {
    left -= name.length
    if (typeof value === 'string') left -= value.length
    else if (typeof value === 'object' && value !== null) left = textLeft(value, left)
    if (left < 0) break
  }
  return left
}
