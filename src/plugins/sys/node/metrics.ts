import { z } from 'zod'
import { fixedPaths } from '../../../core/mounts/mount-path.ts'
import {
  jsonAnswer,
  type NodeExchange,
  type NodeResource,
  nodeResource,
} from '../../../http/resource/node-resource.ts'
import type { Call } from '../../../http/resource/resource.ts'

type ShownMetrics = {
  text(): Promise<{ readonly contentType: string; readonly body: string }>
  json(now: number): Promise<object>
}

export type MetricsRouteParts = {
  readonly metrics: ShownMetrics
  /** Who may read them. docs/settings.md */
  readonly access: 'token' | 'open' | 'off'
  authorize(exchange: NodeExchange): Promise<void>
  now(): number
}

const query = z.object({
  format: z.string().optional().describe('`prometheus` for the Prometheus text format; otherwise JSON'),
})
const counted = z.record(z.string(), z.unknown())

/** The right to read it lets a caller read the metrics, by whichever path. docs/settings.md */
export const metricsPath = `${fixedPaths.system}metrics`

/** `/metrics` and `sys/metrics`. docs/operations.md#health, docs/monitoring.md#metrics */
export function metricsResource({ metrics, access, authorize, now }: MetricsRouteParts): NodeResource {
  return nodeResource(`/${metricsPath}`, {
    verbs: ['GET'],
    // a server that has none says so before it looks at the verb
    isServed: () => access !== 'off',
    summary: 'Read the metrics of the server.',
    query,
    answer: {
      output: z.object({ Timestamp: z.string(), Gauges: z.array(counted) }).loose(),
      form: 'bare',
      example: {
        Timestamp: '2026-03-01 09:30:00 +0000 UTC',
        Gauges: [],
        Points: [],
        Counters: [],
        Samples: [],
      },
    },
    needs: 'token',
    handle: async (exchange) => {
      const { call, header } = exchange
      if (access === 'token') await authorize(exchange)
      const format = formatOf(call, header('accept') ?? '')
      if (format === '') return jsonAnswer(200, await metrics.json(now()))
      if (format === 'prometheus') return { status: 200, ...(await metrics.text()) }
      const body = `metric response format "${format.slice(0, 64)}" unknown`
      return { status: 400, contentType: 'text/plain', body }
    },
  })
}

const scrapePath = 'metrics'

/** Scrapers get Prometheus text at `/metrics`; at `sys/metrics` they ask for it in the query or in Accept. */
function formatOf(call: Call, accept: string): string {
  const asked = new URLSearchParams(call.query).get('format') ?? ''
  if (asked !== '') return asked
  return call.path === scrapePath || /openmetrics-text|text\/plain/.test(accept) ? 'prometheus' : ''
}
