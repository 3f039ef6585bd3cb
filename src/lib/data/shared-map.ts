const bucketCount = 256
const noBuckets: readonly undefined[] = Array.from({ length: bucketCount }, () => undefined)

/**
 * An immutable map with text keys. A changed copy shares with this one all but what has changed: a copy of one
 * of many entries takes a few microseconds.
 */
export class SharedMap<Value> {
  readonly #buckets: readonly (ReadonlyMap<string, Value> | undefined)[]

  constructor(buckets: readonly (ReadonlyMap<string, Value> | undefined)[] = noBuckets) {
    this.#buckets = buckets
  }

  get(key: string): Value | undefined {
    return this.#buckets[bucketOf(key)]?.get(key)
  }

  *values(): Generator<Value, void, undefined> {
    for (const bucket of this.#buckets) if (bucket !== undefined) yield* bucket.values()
  }

  /** A map with these entries; undefined removes one. */
  with(entries: Iterable<readonly [string, Value | undefined]>): SharedMap<Value> {
    const buckets = this.#buckets.slice()
    const copied = new Map<number, Map<string, Value>>()
    for (const [key, value] of entries) {
      const at = bucketOf(key)
      const bucket = copied.get(at) ?? new Map(buckets[at])
      copied.set(at, bucket)
      buckets[at] = bucket
      if (value === undefined) bucket.delete(key)
      else bucket.set(key, value)
    }
    return new SharedMap(buckets)
  }
}

/** Ids differ at their end, or before the id of their namespace, which is seven characters with its dot. */
function bucketOf(key: string): number {
  const last = key.length - 1
  let hash = last < 1 ? last : key.charCodeAt(last) + 17 * key.charCodeAt(last - 1)
  if (last > 8) hash += 29 * key.charCodeAt(last - 7) + 37 * key.charCodeAt(last - 8)
  return hash & (bucketCount - 1)
}
