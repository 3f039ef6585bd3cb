import type { MetricFamily } from './metric-families.ts'

/** The metrics in the JSON form of `sys/metrics`. `now` is milliseconds since the epoch. docs/operations.md#health */
export function metricsJson(metrics: readonly MetricFamily[], now: number): object {
  const valuesOf = (type: string) =>
    metrics
      .filter((metric) => metric.type === type)
      .flatMap(({ name, values }) => values.map((one) => ({ ...one, name })))
  const sums = new Map(
    metrics.flatMap((metric) =>
      metric.values.map((one) => [keyOf(nameIn(metric, one), one.labels), one.value]),
    ),
  )
  const samples = metrics
    .filter(({ type }) => type === 'histogram')
    .flatMap((metric) =>
      metric.values
        .filter((one) => nameIn(metric, one) === `${metric.name}_count`)
        .map((one) =>
          sample(metric.name, {
            count: one.value,
            sum: sums.get(keyOf(`${metric.name}_sum`, one.labels)) ?? 0,
            labels: one.labels,
          }),
        ),
    )
  return {
    Timestamp: `${new Date(now).toISOString().replace('T', ' ').slice(0, 19)} +0000 UTC`,
    Gauges: valuesOf('gauge').map(({ name, value, labels }) => ({
      Name: name,
      Value: value,
      Labels: labels,
    })),
    Points: [],
    Counters: valuesOf('counter').map(({ name, value, labels }) =>
      sample(name, { count: value, sum: value, labels }),
    ),
    Samples: samples,
  }
}

/** The values of a histogram have their own names. */
const nameIn = ({ name }: MetricFamily, { metricName = name }: Sample): string => metricName

const keyOf = (name: string, labels: Sample['labels']): string =>
  `${name} ${JSON.stringify(Object.entries(labels).sort())}`

type Sample = MetricFamily['values'][number]
type Counted = { readonly count: number; readonly sum: number; readonly labels: Sample['labels'] }

/** Minimum, maximum and standard deviation are not recorded. */
const sample = (name: string, { count, sum, labels }: Counted): object => ({
  Name: name,
  Count: count,
  Rate: 0,
  Sum: sum,
  Min: 0,
  Max: 0,
  Mean: count === 0 ? 0 : sum / count,
  Stddev: 0,
  Labels: labels,
})
