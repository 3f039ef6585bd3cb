import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'

type Route = object | string | ((answer: ServerResponse, request: IncomingMessage) => void)

/**
 * A server on loopback for everything the mount fetches. Objects are sent as JSON; a missing route is 404
 * `no`.
 */
export type Provider = AsyncDisposable & {
  readonly url: string
  readonly routes: Map<string, Route>
  /** Requested paths, in order. */
  readonly hits: string[]
  stop(): Promise<void>
}

export async function startProvider(
  routes: Record<string, Route> = {},
  tls?: { key: string; cert: string },
): Promise<Provider> {
  const table = new Map(Object.entries(routes))
  const hits: string[] = []
  const server = (tls === undefined ? createServer() : createTlsServer(tls)).on(
    'request',
    (request: IncomingMessage, response: ServerResponse) => {
      const path = request.url ?? ''
      hits.push(path)
      const route = table.get(path)
      if (typeof route === 'function') route(response, request)
      else if (route === undefined) response.writeHead(404).end('no')
      else
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(typeof route === 'string' ? route : JSON.stringify(route))
    },
  )
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const stop = async () => {
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
  }
  // a listening TCP server has an address with a port
  const { port } = server.address() as AddressInfo
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    routes: table,
    hits,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

export const jwksOf = (...signers: { jwk: object }[]) => ({ keys: signers.map(({ jwk }) => jwk) })
