export type Labels = Readonly<Record<string, string>>

type Labelled<T> = T & { readonly labels: Labels }

/** A counter with labels. Cheap enough for every request: that of prom-client takes ten times as long. */
export class Counter {
  readonly #byKey = new Map<string, Labelled<{ value: number }>>()

  /** These series are there from the start, with the value 0. */
  constructor(series: readonly Labels[] = []) {
    for (const labels of series) this.begin(labels)
  }

  /** Shows this series, with the value 0 unless it is there already. */
  begin(labels: Labels): void {
    const key = keyOf(labels)
    if (!this.#byKey.has(key)) this.#byKey.set(key, { labels, value: 0 })
  }

  add(labels: Labels): void {
    const key = keyOf(labels)
    const known = this.#byKey.get(key)
    if (known === undefined) this.#byKey.set(key, { labels, value: 1 })
    else known.value += 1
  }

  entries(): readonly Labelled<{ readonly value: number }>[] {
    return [...this.#byKey.values()]
  }

  forget(isGone: (labels: Labels) => boolean): void {
    forget(this.#byKey, isGone)
  }
}

/** Upper bounds in seconds: from a cached response to one that waits for a provider. */
export const durationBounds = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
] as const

type Observations = { readonly buckets: Float64Array; sum: number; count: number }

/** A histogram with labels. `bounds` are the upper bounds of its buckets. */
export class Histogram {
  readonly bounds: readonly number[]
  readonly #byKey = new Map<string, Labelled<Observations>>()

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
  }

  observe(labels: Labels, value: number): void {
    const key = keyOf(labels)
    let observations = this.#byKey.get(key)
    if (observations === undefined) {
      observations = { labels, buckets: new Float64Array(this.bounds.length), sum: 0, count: 0 }
      this.#byKey.set(key, observations)
    }
    const slot = this.bounds.findIndex((bound) => value <= bound)
    if (slot >= 0) observations.buckets[slot] = (observations.buckets[slot] ?? 0) + 1
    observations.sum += value
    observations.count += 1
  }

  /** Unlike in Prometheus, `buckets` are not cumulative. */
  entries(): Iterable<Labelled<Readonly<Observations>>> {
    return this.#byKey.values()
  }

  forget(isGone: (labels: Labels) => boolean): void {
    forget(this.#byKey, isGone)
  }
}

function forget(byKey: Map<string, Labelled<unknown>>, isGone: (labels: Labels) => boolean): void {
  for (const [key, { labels }] of byKey) if (isGone(labels)) byKey.delete(key)
}

function keyOf(labels: Labels): string {
  let key = ''
  for (const name in labels) key += `${labels[name]}\n`
  return key
}
