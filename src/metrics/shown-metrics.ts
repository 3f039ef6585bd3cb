import type { Metric } from 'prom-client'
import type { MetricFamily } from './metric-families.ts'
import { metricsJson } from './metrics-json.ts'

async function metricsText(families: readonly MetricFamily[]) {
  const { Registry } = await import('prom-client')
  const registry = new Registry()
  // a registry uses only the name of a metric, and what `get` resolves with
  for (const family of families)
    registry.registerMetric({ name: family.name, get: async () => family } as unknown as Metric)
  return { contentType: registry.contentType, body: await registry.metrics() }
}

/** Metrics as they are shown: as text, and in the JSON form of `sys/metrics`. */
export type ShownMetrics = {
  text(): Promise<{ readonly contentType: string; readonly body: string }>
  /** `now` is milliseconds since the epoch. */
  json(now: number): Promise<object>
}

export const shownFamilies = (read: () => Promise<readonly MetricFamily[]>): ShownMetrics => ({
  text: async () => await metricsText(await read()),
  json: async (now) => metricsJson(await read(), now),
})
