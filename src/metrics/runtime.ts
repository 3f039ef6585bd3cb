import type { Registry } from 'prom-client'
import type { Library } from './instruments.ts'

const lagOf = (figure: string) => `nodejs_eventloop_lag_${figure}_seconds`
const leastLag = lagOf('min')
const lagFigures = [leastLag, ...['max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map(lagOf)]
/** What Node gives as the least delay before it has measured one: 2⁶³ nanoseconds. */
const unmeasuredSeconds = 2 ** 63 / 1e9

/**
 * Figures of the process and of Node. They have watchers that cost something, so they begin with the first
 * read.
 */
export function showRuntime(library: Library, registry: Registry): void {
  library.collectDefaultMetrics({ register: registry })
  hideUnmeasuredLag(registry)
}

/**
 * In the first read, and in one right after another, nothing has been measured: the library shows the figures
 * of an empty histogram.
 */
function hideUnmeasuredLag(registry: Registry): void {
  const least = registry.getSingleMetric(leastLag)
  if (least === undefined) return
  const readLeast = least.get.bind(least)
  const isMeasured = async () => (await readLeast()).values.every(({ value }) => value < unmeasuredSeconds)
  for (const name of lagFigures) {
    const gauge = registry.getSingleMetric(name)
    if (gauge === undefined) continue
    const read = gauge.get.bind(gauge)
    gauge.get = async () => {
      const shown = await read()
      return (await isMeasured()) ? shown : { ...shown, values: [] }
    }
  }
}
