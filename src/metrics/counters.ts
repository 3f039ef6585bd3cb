export type Labels = Readonly<Record<string, string>>

type Kept<T> = T & { readonly labels: Labels }

/**
 * Things of one kind, counted by their labels. Cheap enough for every request: the library that words them
 * needs ten times as long.
 */
export class Counter {
  readonly #byKey = new Map<string, Kept<{ count: number }>>()

  add(labels: Labels): void {
    const key = keyOf(labels)
    const known = this.#byKey.get(key)
    if (known === undefined) this.#byKey.set(key, { labels, count: 1 })
    else known.count += 1
  }

  entries(): Iterable<Kept<{ readonly count: number }>> {
    return this.#byKey.values()
  }
}

/** Upper bounds in seconds: from an answer that lies ready to one that waits for a provider. */
const spanBounds = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
] as const

type Spans = { readonly atMost: Float64Array; sum: number; count: number }

/** How long things took, by their labels; or other measures, with bounds of their own. */
export class Histogram {
  readonly bounds: readonly number[]
  readonly #byKey = new Map<string, Kept<Spans>>()

  constructor(bounds: readonly number[] = spanBounds) {
    this.bounds = bounds
  }

  add(labels: Labels, seconds: number): void {
    const key = keyOf(labels)
    let spans = this.#byKey.get(key)
    if (spans === undefined) {
      spans = { labels, atMost: new Float64Array(this.bounds.length), sum: 0, count: 0 }
      this.#byKey.set(key, spans)
    }
    const slot = this.bounds.findIndex((bound) => seconds <= bound)
    if (slot >= 0) spans.atMost[slot] = (spans.atMost[slot] ?? 0) + 1
    spans.sum += seconds
    spans.count += 1
  }

  /** `atMost` counts those within each bound that are in none before it. */
  entries(): Iterable<Kept<Readonly<Spans>>> {
    return this.#byKey.values()
  }
}

function keyOf(labels: Labels): string {
  let key = ''
  for (const name in labels) key += `${labels[name]}\n`
  return key
}
