import type { IncomingMessage, ServerResponse } from 'node:http'
import { systemRandom } from '../lib/random.ts'
import { type CommonHeaders, requestIdHeader } from './common-headers.ts'
import { healthPaths } from './mount-router.ts'
import { type TlsParts, WebServer } from './web-server.ts'

/** Why a server does not serve yet, as `/health/ready` says. */
export type StartState = 'starting' | 'storage'

/** Responds that the server is starting, or what it waits for. */
export const startingServer = (
  state: () => StartState,
  { tls, common }: { readonly tls: TlsParts | undefined; readonly common: CommonHeaders },
): WebServer =>
  new WebServer({ headerTimeoutMs: 10_000, bodyTimeoutMs: 10_000, tls, common }, (request, response) =>
    sayStarting(request, response, { state: state(), common }),
  )

function sayStarting(
  { url = '/', method }: IncomingMessage,
  response: ServerResponse,
  { state, common }: { readonly state: StartState; readonly common: CommonHeaders },
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
      ...common.of(status),
      ...(status === 503 ? { 'retry-after': '1' } : {}),
      [requestIdHeader]: systemRandom.uuid(),
      'content-type': 'application/json',
      connection: 'close',
    })
    .end(method === 'HEAD' ? undefined : `${JSON.stringify(body)}\n`)
}
