/**
 * Copies of stored records, at most `limit`, the least recently used going first. The one process that writes the records owns the cache: whoever
 * changes a record calls `set` or `drop` after the commit, so a copy is never older than the last answered write.
 */
export class RecordCache<Value extends object> {
  readonly #limit: number
  readonly #copies = new Map<string, Value>()
  #drops = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get(key: string): Value | undefined {
    const copy = this.#copies.get(key)
    if (copy !== undefined) {
      this.#copies.delete(key)
      this.#copies.set(key, copy)
    }
    return copy
  }

  /** Counts drops: hand the count from before a read or write to `set`, and a copy that was overtaken in between is not kept. */
  get drops(): number {
    return this.#drops
  }

  set(key: string, value: Value, drops = this.#drops): void {
    this.#copies.delete(key)
    if (drops !== this.#drops) return
    this.#copies.set(key, value)
    if (this.#copies.size <= this.#limit) return
    for (const oldest of this.#copies.keys()) {
      this.#copies.delete(oldest)
      return
    }
  }

  drop(key: string): void {
    this.#drops += 1
    this.#copies.delete(key)
  }

  /** The copy, or what `load` finds; kept when `isKept` and nothing was dropped while it was read. */
  async read(key: string, load: () => Promise<Value | undefined>, isKept: (value: Value) => boolean = () => true): Promise<Value | undefined> {
    const copy = this.get(key)
    if (copy !== undefined) return copy
    const drops = this.#drops
    const value = await load()
    if (value !== undefined && isKept(value)) this.set(key, value, drops)
    return value
  }
}
