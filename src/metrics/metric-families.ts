import type { Registry } from 'prom-client'

type Sample = {
  readonly labels: Readonly<Partial<Record<string, string | number>>>
  readonly value: number
  /** Of a value of a histogram or summary. */
  readonly metricName?: string
}

export type MetricFamily = {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly values: readonly Sample[]
}

export async function familiesOf(registry: Registry): Promise<MetricFamily[]> {
  const families = await registry.getMetricsAsJSON()
  return families.map(({ name, help, type, values }) => ({
    name,
    help,
    type: String(type),
    values: values.map((sample) => ({
      labels: { ...sample.labels },
      value: sample.value,
      ...('metricName' in sample && { metricName: String(sample.metricName) }),
    })),
  }))
}

/** The metrics of one process, each value with its name. */
export const ofProcess = (process: string, families: readonly MetricFamily[]): MetricFamily[] =>
  families.map((family) => ({
    ...family,
    values: family.values.map((sample) => ({ ...sample, labels: { ...sample.labels, process } })),
  }))

export function merged(lists: readonly (readonly MetricFamily[])[]): MetricFamily[] {
  const byName = Map.groupBy(lists.flat(), ({ name }) => name)
  return [...byName.values()].flatMap((families) => {
    const [first] = families
    return first === undefined ? [] : [{ ...first, values: families.flatMap(({ values }) => values) }]
  })
}
