type Entry<V> = { readonly value: V; readonly weight: number }

/** A cache bounded by the total weight of its entries; it evicts the oldest first. */
export class WeightedCache<V> {
  readonly #maxWeight: number
  readonly #entries = new Map<string, Entry<V>>()
  #weight = 0

  constructor(maxWeight: number) {
    this.#maxWeight = maxWeight
  }

  get(key: string): V | undefined {
    return this.#entries.get(key)?.value
  }

  set(key: string, entry: Entry<V>): void {
    this.#drop(key)
    if (entry.weight > this.#maxWeight) return
    this.#entries.set(key, entry)
    this.#weight += entry.weight
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#maxWeight) return
      this.#drop(oldest)
    }
  }

  clear(): void {
    this.#entries.clear()
    this.#weight = 0
  }

  #drop(key: string): void {
    this.#weight -= this.#entries.get(key)?.weight ?? 0
    this.#entries.delete(key)
  }
}
