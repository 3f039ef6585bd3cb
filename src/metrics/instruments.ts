import type { Gauge, Metric, Counter as PrometheusCounter, Registry } from 'prom-client'
import type { Histogram, Labels } from './counters.ts'

/** prom-client, loaded on first use. */
export type Library = typeof import('prom-client')

/** Name without `gatehouse_`, help text and labels of a metric. docs/monitoring.md#metrics */
export type MetricInfo = { readonly name: string; readonly help: string; readonly labels: readonly string[] }

const configurationOf = ({ name, help, labels }: MetricInfo, registry: Registry) => ({
  name: `gatehouse_${name}`,
  help,
  labelNames: [...labels],
  registers: [registry],
})

type Reading = readonly { readonly labels: Labels; readonly value: number }[]

/** A gauge, or a counter that is kept elsewhere, which is read when metrics are collected. */
export type ReadGauge = MetricInfo & { readonly type?: 'counter'; read(): Reading | Promise<Reading> }

type Figure = number | boolean | undefined

/** A gauge without labels. It is left out while it has no value. */
export const gauge = (name: string, help: string, read: () => Figure | Promise<Figure>): ReadGauge => ({
  name,
  help,
  labels: [],
  read: async () => {
    const value = await read()
    return value === undefined ? [] : [{ labels: {}, value: Number(value) }]
  },
})

type Figures = Iterable<readonly [value: string, Figure]>

/** A gauge with one label. `read` returns the values of the label, each with one of the gauge. */
export const gaugeBy = (
  label: string,
  name: string,
  help: string,
  read: () => Figures | Promise<Figures>,
): ReadGauge => ({
  name,
  help,
  labels: [label],
  read: async () =>
    [...(await read())].flatMap(([of, value]) =>
      value === undefined ? [] : [{ labels: { [label]: of }, value: Number(value) }],
    ),
})

export const droppedLinesMetric = (read: () => number): ReadGauge => ({
  ...gauge(
    'log_lines_dropped_total',
    'Lines of the log that were dropped because nobody read them in time',
    read,
  ),
  type: 'counter',
})

export function registerGauge(
  library: Library,
  registry: Registry,
  { read, type, ...info }: ReadGauge,
): Gauge | PrometheusCounter {
  // leave out what cannot be read, e.g. because the server is sealed
  const readable = () =>
    Promise.resolve()
      .then(read)
      .catch(() => [])
  if (type === 'counter')
    return new library.Counter({
      ...configurationOf(info, registry),
      async collect() {
        const reading = await readable()
        this.reset()
        for (const { labels, value } of reading) this.inc({ ...labels }, value)
      },
    })
  return new library.Gauge({
    ...configurationOf(info, registry),
    async collect() {
      const reading = await readable()
      this.reset()
      // without labels, `reset` sets the value to 0
      if (info.labels.length === 0) this.remove()
      for (const { labels, value } of reading) this.set({ ...labels }, value)
    },
  })
}

/** Registers our histogram directly, because prom-client's would keep its own counts. */
export function registerHistogram(registry: Registry, info: MetricInfo, histogram: Histogram): void {
  const { name, help } = configurationOf(info, registry)
  const told = { name, help, type: 'histogram', aggregator: 'sum' }
  const metric = { ...told, get: async () => ({ ...told, values: valuesOf(name, histogram) }) }
  // a registry uses only the name and the values of its metrics
  registry.registerMetric(metric as unknown as Metric)
}

type Value = {
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
  readonly metricName: string
}

function valuesOf(name: string, histogram: Histogram): Value[] {
  return [...histogram.entries()].flatMap(({ labels, buckets, sum, count }) => {
    let cumulative = 0
    const values = histogram.bounds.map((le, slot): Value => {
      cumulative += buckets[slot] ?? 0
      return { labels: { ...labels, le }, value: cumulative, metricName: `${name}_bucket` }
    })
    return [
      ...values,
      { labels: { ...labels, le: '+Inf' }, value: count, metricName: `${name}_bucket` },
      // a sum of floating point numbers has up to 17 digits
      { labels, value: Number(sum.toPrecision(12)), metricName: `${name}_sum` },
      { labels, value: count, metricName: `${name}_count` },
    ]
  })
}
