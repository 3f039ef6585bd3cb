import type { Clock } from '../system/clock.ts'

/** How often a cache had what was asked for. */
export class CacheUse {
  hits = 0
  misses = 0
}

export type CacheOptions<Value> = {
  /** Its row in docs/architecture.md#caches. */
  readonly name: string
  readonly most: number
  /** The most weight of all values together. One that weighs more than half of it is not kept. */
  readonly mostWeight?: number
  /** The length of the text in the value and its key by default. */
  weigh?(value: Value, key: string): number
  /** How long a value may be returned; as long as it is kept by default. */
  readonly ttl?: { readonly ms: number; readonly clock: Clock }
}

type Entry<Value> = { readonly value: Value; readonly weight: number; readonly at: number }

/**
 * The one cache: copies of what is stored or made elsewhere, the recently used ones. Code that changes what they are
 * copies of calls `drop` after the commit, so a copy is never older than the last acknowledged write of this server. What
 * other servers write is reported: `follow` (docs/replicas.md#copies).
 *
 * It has two generations. A value that is used moves to the young one; when that holds half of what is allowed, the old
 * one is dropped. So a hit reorders nothing, and an empty cache takes no memory: most mounts have a large one with few
 * values.
 */
export class Cache<Value> {
  readonly #options: CacheOptions<Value>
  #young = new Map<string, Entry<Value>>()
  #youngWeight = 0
  #old = new Map<string, Entry<Value>>()
  #drops = 0
  readonly #loading = new Map<string, Promise<Value>>()
  #use = new CacheUse()

  constructor(options: CacheOptions<Value>) {
    this.#options = options
  }

  /** Counts in `use`, from now on, how often a value is found, and how often `read` has to load one. */
  countIn(use: CacheUse): this {
    this.#use = use
    return this
  }

  has(key: string): boolean {
    return this.#young.has(key) || this.#old.has(key)
  }

  get(key: string): Value | undefined {
    const young = this.#young.get(key)
    const entry = young ?? this.#old.get(key)
    if (entry === undefined || this.#hasEnded(entry)) return undefined
    if (young === undefined) this.#insert(key, entry)
    this.#use.hits += 1
    return entry.value
  }

  /**
   * The number of drops so far. Pass the number from before a read to `set`, so that a value that was changed in
   * between is not cached.
   */
  get drops(): number {
    return this.#drops
  }

  set(key: string, value: Value, drops = this.#drops): void {
    if (drops !== this.#drops) return
    const { mostWeight, weigh = textIn, ttl } = this.#options
    const weight = mostWeight === undefined ? 0 : weigh(value, key)
    if (mostWeight !== undefined && weight > mostWeight / 2) this.#remove(key)
    else this.#insert(key, { value, weight, at: ttl?.clock.now() ?? 0 })
  }

  drop(key: string): void {
    this.#drops += 1
    this.#loading.delete(key)
    this.#remove(key)
  }

  dropAll(): void {
    this.#drops += 1
    this.#loading.clear()
    this.#old = new Map()
    this.#renew()
  }

  dropWhere(isOutdated: (value: Value) => boolean): void {
    this.#drops += 1
    this.#loading.clear()
    for (const copies of [this.#young, this.#old])
      for (const [key, { value }] of copies) if (isOutdated(value)) this.#remove(key)
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
   * Returns the cached value or loads it; caches it if `isCacheable` and if nothing was dropped in the meantime.
   */
  async read<Loaded extends Value | undefined>(
    key: string,
    load: () => Promise<Loaded>,
    isCacheable: (value: Value) => boolean = () => true,
  ): Promise<Value | Loaded> {
    const copy = this.get(key)
    if (copy !== undefined) return copy
    this.#use.misses += 1
    const drops = this.#drops
    const value = await load()
    if (value !== undefined && isCacheable(value)) this.set(key, value, drops)
    return value
  }

  /** Like `read`, for what takes long to load: concurrent callers share a load, unless a drop has overtaken it. */
  async readShared(key: string, load: () => Promise<Value>): Promise<Value> {
    const known = this.get(key) ?? this.#loading.get(key)
    if (known !== undefined) return known
    const loading = this.read(key, load).finally(() => {
      if (this.#loading.get(key) === loading) this.#loading.delete(key)
    })
    this.#loading.set(key, loading)
    return loading
  }

  #hasEnded({ at }: Entry<Value>): boolean {
    const { ttl } = this.#options
    // the clock may have been set back
    return ttl !== undefined && Math.abs(ttl.clock.now() - at) >= ttl.ms
  }

  #insert(key: string, entry: Entry<Value>): void {
    this.#remove(key)
    const { most, mostWeight = Number.POSITIVE_INFINITY } = this.#options
    if (this.#young.size >= most / 2 || this.#youngWeight + entry.weight > mostWeight / 2) {
      this.#old = this.#young
      this.#renew()
    }
    this.#young.set(key, entry)
    this.#youngWeight += entry.weight
  }

  #renew(): void {
    this.#young = new Map()
    this.#youngWeight = 0
  }

  #remove(key: string): void {
    this.#old.delete(key)
    this.#youngWeight -= this.#young.get(key)?.weight ?? 0
    this.#young.delete(key)
  }
}

/** The length of all text in a value of any depth, member names included. */
export function textIn(value: unknown, key = ''): number {
  let sum = key.length
  const work = [value]
  while (work.length > 0) {
    const next = work.pop()
    if (typeof next === 'string') sum += next.length
    else if (typeof next === 'object' && next !== null) {
      for (const name of Object.keys(next)) sum += name.length
      for (const member of Object.values(next)) work.push(member)
    }
  }
  return sum
}
