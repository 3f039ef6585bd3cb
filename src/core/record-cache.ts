/**
 * Copies of stored records, at most `limit`; those used lately stay. The one process that writes the records
 * owns the cache: whoever changes a record calls `drop` after the commit, so a copy is never older than the
 * last answered write.
 *
 * What callers put into a record can be long: a copy with more text than `maxText` is not kept, so that
 * memory has a bound too. `own` gives the part of a value whose text counts, where the rest is shared with
 * other copies.
 *
 * Two generations instead of a list in order of use: what is used moves to the young one, and when that has
 * half of the limit, the old one is let go.
 */
export class RecordCache<Value extends object> {
  readonly #half: number
  readonly #maxText: number
  readonly #own: (value: Value) => object
  #young = new Map<string, Value>()
  #old = new Map<string, Value>()
  #drops = 0

  constructor(
    limit: number,
    maxText = Number.POSITIVE_INFINITY,
    own: (value: Value) => object = (value) => value,
  ) {
    this.#half = Math.ceil(limit / 2)
    this.#maxText = maxText
    this.#own = own
  }

  get(key: string): Value | undefined {
    const copy = this.#young.get(key)
    if (copy !== undefined) return copy
    const old = this.#old.get(key)
    if (old !== undefined) this.#keep(key, old)
    return old
  }

  /**
   * Counts drops: hand the count from before a read or write to `set`, and a copy that was overtaken in
   * between is not kept.
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
      this.#keep(key, value)
  }

  #keep(key: string, value: Value): void {
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

  /** The copy, or what `load` finds; kept when `isKept` and nothing was dropped while it was read. */
  async read(
    key: string,
    load: () => Promise<Value | undefined>,
    isKept: (value: Value) => boolean = () => true,
  ): Promise<Value | undefined> {
    const copy = this.get(key)
    if (copy !== undefined) return copy
    const drops = this.#drops
    const value = await load()
    if (value !== undefined && isKept(value)) this.set(key, value, drops)
    return value
  }
}

/**
 * What is left of `room` when all text in a record has its place, names of members included; below zero when
 * it has not.
 */
function textLeft(record: object, room: number): number {
  let left = room
  for (const [name, value] of Object.entries(record)) {
    left -= name.length
    if (typeof value === 'string') left -= value.length
    else if (typeof value === 'object' && value !== null) left = textLeft(value, left)
    if (left < 0) break
  }
  return left
}
