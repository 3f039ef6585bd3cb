import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { StartError } from '../errors.ts'
import { systemCode } from '../lib/private-file.ts'
import { systemRandom } from '../lib/random.ts'
import { commonHeaders, requestIdHeader } from './common-headers.ts'

export type MetricsListenerParts = {
  readonly host: string
  readonly port: number
  metrics(): Promise<{ readonly contentType: string; readonly body: string }>
  /** `ready`, or the first thing that is in the way. */
  readiness(): Promise<string>
}

/** A listener that is disposed with all its connections. */
export type MetricsListener = AsyncDisposable & { readonly port: number }

type Answer = { readonly status: number; readonly contentType: string; readonly body: string }

/** `/metrics` and `/health/*` on an address of their own: plain HTTP, no token, also while sealed. Contract operations §1 METRICS_LISTEN. */
export async function startMetricsListener(parts: MetricsListenerParts): Promise<MetricsListener> {
  const { host, port } = parts
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 30_000 }, (request, response) => void serve(request, response, parts))
  server.listen(port, host)
  await once(server, 'listening').catch((cause: unknown) => {
    throw new StartError(2, `GATEHOUSE_METRICS_LISTEN: cannot listen on ${host}:${port}: ${systemCode(cause)}`, { cause })
  })
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function serve(request: IncomingMessage, response: ServerResponse, parts: MetricsListenerParts): Promise<void> {
  const { status, contentType, body } = await answerTo(request, parts).catch(() => json(500, { errors: ['internal error'] }))
  const retry = status === 503 ? { 'retry-after': '1' } : {}
  response
    .writeHead(status, { ...commonHeaders, ...retry, [requestIdHeader]: systemRandom.uuid(), 'content-type': contentType })
    .end(request.method === 'HEAD' ? undefined : body)
}

async function answerTo({ method, url = '/' }: IncomingMessage, { metrics, readiness }: MetricsListenerParts): Promise<Answer> {
  if (method !== 'GET' && method !== 'HEAD') return json(405, { errors: [] })
  switch (url.split('?', 1)[0]) {
    case '/metrics':
      return { status: 200, ...(await metrics()) }
    case '/health/live':
      return json(200, { status: 'live' })
    case '/health/ready': {
      const status = await readiness()
      return json(status === 'ready' ? 200 : 503, { status })
    }
    default:
      return json(404, { errors: [] })
  }
}

const json = (status: number, body: object): Answer => ({ status, contentType: 'application/json', body: `${JSON.stringify(body)}\n` })
