import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { systemRandom } from '../../lib/system/random.ts'
import { CommonHeaders, requestIdHeader } from '../exchange/common-headers.ts'
import { binding } from './listen-address.ts'

export type MetricsListenerParts = {
  readonly host: string
  readonly port: number
  /** Undefined until the server has metrics. */
  metrics(): Promise<{ readonly contentType: string; readonly body: string } | undefined>
  /** `ready`, or the first reason why not. */
  readiness(): Promise<string>
}

/** A listener that is disposed with all its connections. */
export type MetricsListener = AsyncDisposable & { readonly port: number }

const common = new CommonHeaders()

type Answer = { readonly status: number; readonly contentType: string; readonly body: string }

/**
 * Serves `/metrics` and `/health/*` on a separate address: plain HTTP, no token, also while sealed. Rejects
 * with a `ListenError`.
 */
export async function startMetricsListener(parts: MetricsListenerParts): Promise<MetricsListener> {
  const { host, port } = parts
  const server = createServer(
    { headersTimeout: 10_000, requestTimeout: 30_000 },
    (request, response) => void serve(request, response, parts),
  )
  await binding({ host, port }, async () => {
    server.listen(port, host)
    await once(server, 'listening')
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

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  parts: MetricsListenerParts,
): Promise<void> {
  const { status, contentType, body } = await answerTo(request, parts).catch(() =>
    json(500, { errors: ['internal error'] }),
  )
  const retry = status === 503 ? { 'retry-after': '1' } : {}
  response
    .writeHead(status, {
      ...common.of(status),
      ...retry,
      [requestIdHeader]: systemRandom.uuid(),
      'content-type': contentType,
    })
    .end(request.method === 'HEAD' ? undefined : body)
}

async function answerTo(
  { method, url = '/' }: IncomingMessage,
  { metrics, readiness }: MetricsListenerParts,
): Promise<Answer> {
  if (method !== 'GET' && method !== 'HEAD') return json(405, { errors: [] })
  switch (url.split('?', 1)[0]) {
    case '/metrics': {
      const text = await metrics()
      return text === undefined ? json(503, { errors: ['server is starting'] }) : { status: 200, ...text }
    }
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

const json = (status: number, body: object): Answer => ({
  status,
  contentType: 'application/json',
  body: `${JSON.stringify(body)}\n`,
})
