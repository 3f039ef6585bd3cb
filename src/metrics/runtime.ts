import type { Registry } from 'prom-client'
import type { Library } from './instruments.ts'

const lagOf = (figure: string) => `nodejs_eventloop_lag_${figure}_seconds`
const minLag = lagOf('min')
const lagMetrics = [minLag, ...['max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map(lagOf)]
/** The minimum that Node.js reports before it has measured any delay: 2⁶³ nanoseconds. */
const unmeasuredSeconds = 2 ** 63 / 1e9

/**
 * Registers the default process and Node.js metrics. Their observers cost time, so they start with the first
 * export.
 */
export function registerRuntimeMetrics(library: Library, registry: Registry): void {
  library.collectDefaultMetrics({ register: registry })
  hideUnmeasuredLag(registry)
}

/**
 * Omits the event loop lag while it is unmeasured: on the first export, and right after another one. The
 * library would report the values of an empty histogram.
 */
function hideUnmeasuredLag(registry: Registry): void {
  const min = registry.getSingleMetric(minLag)
  if (min === undefined) return
  const readMin = min.get.bind(min)
  const isMeasured = async () => (await readMin()).values.every(({ value }) => value < unmeasuredSeconds)
  for (const name of lagMetrics) {
    const gauge = registry.getSingleMetric(name)
    if (gauge === undefined) continue
    const read = gauge.get.bind(gauge)
    gauge.get = async () => {
      const metric = await read()
      return (await isMeasured()) ? metric : { ...metric, values: [] }
    }
  }
}
