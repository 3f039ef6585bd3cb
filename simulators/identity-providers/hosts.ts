import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { pipeline } from 'node:stream'
import { tls } from './certificate.ts'

/** A request to a stand-in. */
export type Asked = {
  readonly method: string
  /** The requested URL, with the requested host. */
  readonly url: URL
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A response; a `body` that is not a string is sent as JSON. */
export type Answer = {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: object | string
}

export type Handler = (requested: Asked) => Answer | Promise<Answer>

/** A fault of a host. */
type Trouble =
  | { readonly kind: 'answer'; readonly answer: Answer }
  /** The host reads the request and never responds. */
  | { readonly kind: 'silent' }
  /** The connection is closed in the middle of the body. */
  | { readonly kind: 'cut' }
  /** A body of `bytes` bytes. */
  | { readonly kind: 'huge'; readonly bytes: number }

/** Stand-ins for public hosts, behind one HTTPS server on loopback. */
export interface Hosts extends AsyncDisposable {
  /** For `HTTPS_PROXY`: a connection to one of the hosts reaches its stand-in. Other hosts are refused. */
  readonly proxyUrl: string
  /** The same server by its address; `byAddress` handles these requests. */
  readonly url: string
  /** The certificate to trust for all the hosts, PEM. */
  readonly caPem: string
  /** Every request so far, as `GET https://host/path?query`. */
  readonly requests: string[]
  /** Orders a fault for the next `times` requests to a host. */
  misbehave(host: string, trouble: Trouble, times?: number): void
}

/** Starts the hosts; they listen when the promise resolves. */
export async function startHosts(handlers: ReadonlyMap<string, Handler>, byAddress: Handler): Promise<Hosts> {
  const requests: string[] = []
  const troubles = new Map<string, { trouble: Trouble; times: number }>()
  const server = createTlsServer(tls, (request, response) => void answer(request, response))
  const proxy = createServer().on('connect', (request, socket, head) => {
    if (!handlers.has((request.url ?? '').replace(/:443$/, '')))
      return void socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
    const upstream = connect(portOf(server), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.write(head)
      pipeline(socket, upstream, socket, () => {})
    })
    upstream.on('error', () => socket.destroy())
  })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const host = request.headers.host ?? ''
    const url = new URL(request.url ?? '/', `https://${host}`)
    requests.push(`${request.method} ${url}`)
    const body = await textOf(request)
    const ordered = troubles.get(url.hostname)
    if (ordered !== undefined && ordered.times > 0) {
      ordered.times -= 1
      return answerWrongly(ordered.trouble, response)
    }
    const handler = handlers.get(host) ?? byAddress
    send(await handler({ method: request.method ?? '', url, headers: request.headers, body }), response)
  }

  await Promise.all([listen(server), listen(proxy)])
  return {
    proxyUrl: `http://127.0.0.1:${portOf(proxy)}`,
    url: `https://127.0.0.1:${portOf(server)}`,
    caPem: tls.cert,
    requests,
    misbehave: (host, trouble, times = Number.POSITIVE_INFINITY) =>
      void troubles.set(host, { trouble, times }),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      proxy.closeAllConnections()
      await Promise.all([close(server), close(proxy)])
    },
  }
}

function send({ status, headers = {}, body }: Answer, response: ServerResponse): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json; charset=UTF-8', ...headers }).end(text)
}

function answerWrongly(trouble: Trouble, response: ServerResponse): void {
  switch (trouble.kind) {
    case 'answer':
      send(trouble.answer, response)
      break
    case 'silent':
      break
    case 'cut':
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 4096 })
      response.write('{"', () => response.destroy())
      break
    case 'huge':
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ padding: 'x'.repeat(trouble.bytes) }))
      break
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  // without an encoding set, a request gives buffers
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

type Listener = ReturnType<typeof createServer> | ReturnType<typeof createTlsServer>

async function listen(server: Listener): Promise<void> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
}

const close = (server: Listener) => new Promise((done) => server.close(done))

// a TCP server that listens has an address with a port
const portOf = (server: Listener): number => (server.address() as AddressInfo).port
