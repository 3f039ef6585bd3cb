import type { NonSharedBuffer } from 'node:buffer'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import { CommonHeaders } from '../exchange/common-headers.ts'
import { isCredential, textBytes } from '../exchange/request-headers.ts'
import { type Connection, Connections, noLimits } from './connections.ts'
import { LargeHeads } from './large-heads.ts'
import { checkParser } from './parser-check.ts'
import { type RawStatus, statusOfParserError } from './raw-errors.ts'
import { type FeedRules, RequestFeed } from './request-feed.ts'

/** The connection settings. docs/settings.md */
export type ConnectionOptions = {
  /**
   * From the first byte of a request to the end of its head; with HTTP/2, from a connection's handshake to its first
   * frame.
   */
  readonly headerTimeoutMs: number
  /** From the beginning of a request to the end of its body. */
  readonly bodyTimeoutMs: number
  /** How long a connection may wait for its next request. Go's clients keep one for 90 s. */
  readonly idleTimeoutMs: number
  /** Interval at which the first two timeouts are checked. */
  readonly timeoutCheckMs: number
  /** Limits the heads of requests. */
  readonly head: HeadLimits
  /** Limits the number of connections. */
  readonly connections: Connections
  /** The headers of refusals. */
  readonly common: CommonHeaders
  /** Called for each request that is refused before a handler sees it. */
  readonly onRefused: (status: RawStatus) => void
}

export const connectionOptions = (given: Partial<ConnectionOptions>): ConnectionOptions => ({
  headerTimeoutMs: 10_000,
  bodyTimeoutMs: 30_000,
  idleTimeoutMs: 300_000,
  timeoutCheckMs: 1_000,
  head: { maxBytes: 32 * 1024, maxFields: 128 },
  connections: new Connections(noLimits),
  common: new CommonHeaders(),
  onRefused: () => {},
  ...given,
})

/** Of the head of one request. A request with more gets 431; none of it is silently dropped. */
export type HeadLimits = {
  /** Request line and header fields. */
  readonly maxBytes: number
  readonly maxFields: number
}

/** What credentials may have in addition: tokens, and logins that the head carries. docs/limits.md#heads */
export const mostCredentialBytes = 96 * 1024

/** The request target; more is 414. */
export const maxTargetBytes = 64 * 1024

/**
 * An HTTP server whose handler sees every method token as the client sent it: `LIST`, which Node's parser
 * refuses, and any other token of up to 32 bytes that RFC 9110 §9.1 allows. Requests that cannot reach a
 * handler get `E[]` here. docs/contract/http.md#verbs-and-paths, docs/decisions/0001-list-verb.md. Throws
 * `StartError` on an unsupported Node.js.
 */
export function createListServer(options: ConnectionOptions, handler: RequestListener): Server {
  checkParser()
  const { headerTimeoutMs, bodyTimeoutMs, connections, onRefused, common } = options
  const { maxBytes, maxFields } = options.head
  const serverOptions = {
    // Node.js requires this one to be the shorter one
    headersTimeout: Math.min(headerTimeoutMs, bodyTimeoutMs),
    requestTimeout: bodyTimeoutMs,
    keepAliveTimeout: options.idleTimeoutMs,
    connectionsCheckingInterval: options.timeoutCheckMs,
    maxHeaderSize: maxBytes + mostCredentialBytes,
    requireHostHeader: false,
    // most requests have no body: they need no stream
    optimizeEmptyRequests: true,
  }
  const server = createServer(serverOptions)
  server.maxHeadersCount = maxFields + 1
  // undocumented: a client that has closed its sending side still gets its pending responses
  Object.assign(server, { httpAllowHalfOpen: true })

  const lineBySocket = new WeakMap<Socket, Line>()
  const feeds = new Set<RequestFeed>()
  const large = new LargeHeads(maxBytes)
  // Node's own also closes connections whose clients have not taken the last response yet
  server.closeIdleConnections = () => {
    for (const feed of feeds) feed.closeIfIdle()
  }

  function receive(request: IncomingMessage, response: ServerResponse): void {
    const line = lineBySocket.get(request.socket)
    if (line?.feed.accept(request, response) !== true) return
    connections.begin(line.connection, request, response)
    const refusal = headRefusal(request, { maxBytes, maxFields })
    if (refusal === undefined) handler(request, response)
    else line.feed.refuse(refusal)
  }

  server.on('connection', (socket: Socket) => {
    const connection = connections.of(socket) ?? connections.open(socket)
    if (connection === undefined) return
    const feed = feedOf(socket, {
      headerTimeoutMs: serverOptions.headersTimeout,
      large,
      onRefused,
      common,
      onBytes: () => connections.heard(connection),
    })
    lineBySocket.set(socket, { connection, feed })
    feeds.add(feed)
    socket.once('close', () => feeds.delete(feed))
  })
  server.on('request', receive)
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const feed = lineBySocket.get(request.socket)?.feed
    if (feed?.accept(request, response) === true) feed.refuse(417)
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const feed = lineBySocket.get(socket)?.feed
    if (error.code === 'ECONNRESET' || feed === undefined) socket.destroy()
    else if (error.code === 'HPE_CLOSED_CONNECTION') feed.stop()
    else feed.refuse(statusOfParserError(error.code))
  })
  return server
}

/** The objects between a socket and the handler. */
type Line = { readonly connection: Connection; readonly feed: RequestFeed }

type FeedOptions = FeedRules & { onBytes(): void }

/** Inserts a feed between the socket and the listener with which the server just attached its parser. */
function feedOf(socket: Socket, { onBytes, ...rules }: FeedOptions): RequestFeed {
  const [parse] = socket.listeners('data')
  if (parse === undefined) throw new Error('the HTTP server did not attach a parser to its connection')
  const feed = new RequestFeed(socket, (bytes) => parse.call(socket, bytes), rules)
  socket.removeAllListeners('data')
  socket.on('data', (bytes: NonSharedBuffer) => {
    onBytes()
    feed.take(bytes)
  })
  return feed
}

/** What is wrong with a head that the parser accepted. */
function headRefusal(request: IncomingMessage, limits: HeadLimits): RawStatus | undefined {
  if (isTooLarge(request, limits)) return 431
  if ((request.url ?? '').length > maxTargetBytes) return 414
  const current = request.httpVersion === '1.1'
  if (!current && request.httpVersion !== '1.0') return 400
  const hosts = countHosts(request.rawHeaders)
  if (hosts > 1 || (hosts === 0 && current)) return 400
  const coding = request.headers['transfer-encoding']
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || !current)) return 400
  return undefined
}

/** Whether a head has too many fields, or too many bytes beside credentials. */
export function isTooLarge(request: IncomingMessage, limits: HeadLimits): boolean {
  const { httpVersionMajor, rawHeaders, url = '' } = request
  if (rawHeaders.length > 2 * limits.maxFields) return true
  let credentials = 0
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (isCredential(rawHeaders[at]?.toLowerCase() ?? ''))
      credentials += (rawHeaders[at]?.length ?? 0) + (rawHeaders[at + 1]?.length ?? 0)
  // over HTTP/2, the target is a field
  const target = httpVersionMajor === 2 ? 0 : url.length
  const others = target + textBytes(rawHeaders) - credentials
  return others > limits.maxBytes || credentials > mostCredentialBytes
}

function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts
}
