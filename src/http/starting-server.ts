import type { IncomingMessage, ServerResponse } from 'node:http'
import { systemRandom } from '../lib/random.ts'
import { commonHeaders, requestIdHeader } from './common-headers.ts'
import { healthPaths } from './mount-router.ts'
import { type TlsParts, WebServer } from './web-server.ts'

/** Why a server does not serve yet, as `/health/ready` says. */
export type StartState = 'starting' | 'storage'

/** Responds that the server is starting, or what it waits for. */
export const startingServer = (state: () => StartState, tls: TlsParts | undefined): WebServer =>
  new WebServer({ headerTimeoutMs: 10_000, bodyTimeoutMs: 10_000, tls }, (request, response) =>
    sayStarting(request, response, state()),
  )

function sayStarting(
  { url = '/', method }: IncomingMessage,
  response: ServerResponse,
  state: StartState,
): void {
  const path = url.split('?', 1)[0]
  const [status, body] =
    path === `/${healthPaths.live}`
      ? [200, { status: 'live' }]
      : path === `/${healthPaths.ready}`
        ? [503, { status: state }]
        : [503, { errors: [state === 'storage' ? 'storage is unavailable' : 'server is starting'] }]
  response
    .writeHead(status, {
      ...commonHeaders,
      ...(status === 503 ? { 'retry-after': '1' } : {}),
      [requestIdHeader]: systemRandom.uuid(),
      'content-type': 'application/json',
      connection: 'close',
    })
    .end(method === 'HEAD' ? undefined : `${JSON.stringify(body)}\n`)
}
