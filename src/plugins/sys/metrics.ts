import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type Call, callOf } from '../../http/call.ts'
import { errorBody } from '../../http/error-reply.ts'
import { sendJson, sendText } from '../../http/json-reply.ts'
import { carrierOf } from '../../http/mount-router.ts'
import { helpOnly } from '../../http/resource.ts'

/** The metrics of a running server, as Prometheus text and as JSON. */
type ShownMetrics = {
  text(): Promise<{ readonly contentType: string; readonly body: string }>
  json(now: number): Promise<object>
}

export type MetricsRouteParts = {
  readonly metrics: ShownMetrics
  /** Who may read them. docs/settings.md */
  readonly access: 'token' | 'open' | 'off'
  /** Throws unless the caller may read `sys/metrics`. */
  authorize(request: FastifyRequest, call: Call): Promise<void>
  now(): number
}

const query = z.object({
  format: z.string().optional().describe('`prometheus` for the Prometheus text format; otherwise JSON'),
})
const about = 'Read the metrics of the server.'
const counted = z.record(z.string(), z.unknown())

/** `/metrics` and `sys/metrics`. docs/operations.md#health, docs/operations.md#metrics */
export function metricsRoute(
  app: FastifyInstance,
  { metrics, access, authorize, now }: MetricsRouteParts,
): void {
  app.route({
    method: Object.values(carrierOf),
    url: '/-/node/metrics',
    schema: { hide: true },
    config: {
      document: {
        ...{ path: '/sys/metrics', method: 'GET', at: 'v1' },
        schema: {
          summary: about,
          querystring: query,
          response: { 200: z.object({ Timestamp: z.string(), Gauges: z.array(counted) }).loose() },
        },
        answer: {
          form: 'bare',
          example: {
            Timestamp: '2026-03-01 09:30:00 +0000 UTC',
            Gauges: [],
            Points: [],
            Counters: [],
            Samples: [],
          },
        },
      },
    },
    handler: async (request, reply) => {
      const call = callOf(request.raw)
      if (access === 'off') return sendJson(reply, 404, errorBody())
      if (call.verb !== 'GET') return sendJson(reply, 405, errorBody())
      if (access === 'token') await authorize(request, call)
      const format = formatOf(call, request.headers.accept ?? '')
      if (format !== 'prometheus' && format !== '')
        return sendText(reply, 400, 'text/plain', `metric response format "${format.slice(0, 64)}" unknown`)
      if (format === '') return sendJson(reply, 200, `${JSON.stringify(await metrics.json(now()))}\n`)
      const { contentType, body } = await metrics.text()
      return sendText(reply, 200, contentType, body)
    },
  })
  const verbs = [{ verb: 'read' as const, summary: about, input: query, anyFields: false }]
  helpOnly(app, '/system/metrics', { path: '/sys/metrics', isOfNode: true, about, needs: 'token', verbs })
}

/** Scrapers get Prometheus text at `/metrics`; at `sys/metrics` they ask for it in the query or in Accept. */
function formatOf(call: Call, accept: string): string {
  const asked = new URLSearchParams(call.query).get('format') ?? ''
  if (asked !== '') return asked
  return call.path === 'metrics' || /openmetrics-text|text\/plain/.test(accept) ? 'prometheus' : ''
}
