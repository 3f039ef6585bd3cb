import type { IncomingMessage, ServerResponse } from 'node:http'
import { systemRandom } from '../../lib/system/random.ts'
import { WebUi } from '../document/web-ui.ts'
import { BodyBudget } from '../exchange/body-reader.ts'
import { type CommonHeaders, requestIdHeader } from '../exchange/common-headers.ts'
import { healthPaths, isOpenedPage, isUiTarget } from '../exchange/mount-router.ts'
import { withQuery } from '../exchange/with-query.ts'
import { type TlsParts, WebServer } from './web-server.ts'

/** Why a server does not serve yet, as `/health/ready` says. */
export type StartState = 'starting' | 'storage'

type StartingParts = {
  readonly tls: TlsParts | undefined
  readonly common: CommonHeaders
  /** Whether the web UI is served. */
  readonly ui: boolean
}

type SendingParts = { readonly pages: WebUi; readonly common: CommonHeaders; readonly budget: BodyBudget }

/** Responses of the web UI that their clients have not taken yet; beyond that, only the state is told. */
const mostHeldBytes = 32 * 1024 * 1024

/** Responds that the server is starting, or what it waits for. The web UI loads, and shows that. */
export function startingServer(state: () => StartState, { tls, common, ui }: StartingParts): WebServer {
  const pages = new WebUi()
  const budget = new BodyBudget(mostHeldBytes)
  return new WebServer(
    { headerTimeoutMs: 10_000, bodyTimeoutMs: 10_000, tls, common },
    (request, response) => {
      if (ui && !budget.isSpent && (isUiTarget(request.url) || isOpenedPage(request.method ?? '', request)))
        void sendPage(request, response, { pages, common, budget }).catch(() => response.destroy())
      else sayStarting(request, response, { state: state(), common })
    },
  )
}

async function sendPage(
  { url = '/', method = 'GET', headers }: IncomingMessage,
  response: ServerResponse,
  { pages, common, budget }: SendingParts,
): Promise<void> {
  const [path = '', query = ''] = url.split(/\?(.*)/s)
  const answer =
    path === '/'
      ? { status: 307, headers: { location: withQuery('/ui/', query) } }
      : await pages.answer({
          verb: method,
          path,
          query,
          added: {},
          header: (name) => [headers[name]].flat()[0],
        })
  if (response.destroyed) return
  const { body = '' } = answer
  const bytes = body instanceof Buffer ? body.length : Buffer.byteLength(String(body))
  budget.take(bytes)
  response.once('close', () => budget.give(bytes))
  response
    .writeHead(answer.status, {
      ...common.of(answer.status),
      [requestIdHeader]: systemRandom.uuid(),
      ...answer.headers,
      ...(answer.contentType !== undefined && { 'content-type': answer.contentType }),
      connection: 'close',
    })
    .end(method === 'HEAD' ? undefined : answer.body)
}

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
