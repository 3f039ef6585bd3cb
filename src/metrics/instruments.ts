import type { Counter as ShownCounter, Gauge, Metric, Registry } from 'prom-client'
import type { Counter, Labels, Histogram } from './counters.ts'

/** The library, loaded when it is first needed. */
export type Library = typeof import('prom-client')

/** Name without `gatehouse_`, help and labels, by docs/operations.md#metrics */
export type Described = { readonly name: string; readonly help: string; readonly labels: readonly string[] }

const named = ({ name, help, labels }: Described, registry: Registry) => ({
  ...{ name: `gatehouse_${name}`, help, labelNames: [...labels], registers: [registry] },
})

export function showCounts(
  { Counter }: Library,
  registry: Registry,
  described: Described,
  counter: Counter,
): ShownCounter {
  return new Counter({
    ...named(described, registry),
    collect() {
      this.reset()
      for (const { labels, count } of counter.entries()) this.inc({ ...labels }, count)
    },
  })
}

/** Values of one gauge, by their labels. */
export type Reading = readonly { readonly labels: Labels; readonly value: number }[]

/** What is looked up when somebody asks. */
export type ReadGauge = Described & { read(): Reading | Promise<Reading> }

export function showGauge({ Gauge }: Library, registry: Registry, { read, ...described }: ReadGauge): Gauge {
  return new Gauge({
    ...named(described, registry),
    async collect() {
      // one that cannot be read, as in a sealed server, is left out; the others are told
      const reading = await Promise.resolve()
        .then(read)
        .catch(() => [])
      this.reset()
      // one without labels would now be 0
      if (described.labels.length === 0) this.remove()
      for (const { labels, value } of reading) this.set({ ...labels }, value)
    },
  })
}

/** A histogram of the library keeps its own counts; this one has ours. */
export function showSpans(registry: Registry, described: Described, histogram: Histogram): void {
  const { name, help } = named(described, registry)
  const shown = {
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    get: async () => ({
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: valuesOf(name, histogram),
    }),
  }
  // a registry asks its metrics for their name and their values, and for nothing else
  registry.registerMetric(shown as unknown as Metric)
}

type Value = {
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
  readonly metricName: string
}

function valuesOf(name: string, histogram: Histogram): Value[] {
  return [...histogram.entries()].flatMap(({ labels, atMost, sum, count }) => {
    let within = 0
    const buckets = histogram.bounds.map((le, slot): Value => {
      within += atMost[slot] ?? 0
      return { labels: { ...labels, le }, value: within, metricName: `${name}_bucket` }
    })
    return [
      ...buckets,
      { labels: { ...labels, le: '+Inf' }, value: count, metricName: `${name}_bucket` },
      { labels, value: sum, metricName: `${name}_sum` },
      { labels, value: count, metricName: `${name}_count` },
    ]
  })
}
