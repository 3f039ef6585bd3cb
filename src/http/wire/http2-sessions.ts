import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import {
  constants,
  createServer,
  type Http2Server,
  Http2ServerRequest,
  Http2ServerResponse,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { forgetHead } from '../exchange/request-headers.ts'
import type { Connection } from './connections.ts'
import {
  type ConnectionOptions,
  type HeadLimits,
  isTooLarge,
  maxTargetBytes,
  mostCredentialBytes,
} from './list-verb.ts'
import { emptyErrors, type RawStatus, refusalHeaders } from './raw-errors.ts'

declare module 'node:http' {
  interface IncomingMessage {
    /** The stream of a request of HTTP/2: it ends with the request, unlike the socket. */
    readonly stream?: ServerHttp2Stream
  }
}

/** Requests of one connection at the same time; a client waits with more. */
const mostStreams = 100
/** The same while no request of the connection has had a valid token. */
const mostStreamsOfStrangers = 32
/** Header fields beyond the limit that Node.js still reads, so that the request gets a status. */
const surplusFields = 1000
/**
 * Requests that a connection may give up at once, and each second after that. All that arrive in one packet are begun
 * before the first is given up, so these limits bound how long a flood of them keeps others waiting.
 */
const mostResets = 200
const resetsPerSecond = 33
/** As a last frame's stream in GOAWAY: requests that are on their way are still served (RFC 9113 §6.8). */
const anyStream = 2 ** 31 - 1
/** How long a client of a connection that ends may take to close its side. */
const closingMs = 500
/** Memory of one connection: heads and unsent responses, in MB. More requests are then refused. */
const sessionMemory = 32

/** A request of HTTP/2 whose head has arrived. */
type Arrived = {
  readonly session: Session
  readonly frames: Http2Session
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
}

/** One connection. */
type Session = {
  readonly http2: Http2Session
  readonly socket: TLSSocket
  readonly connection: Connection
  readonly idle: NodeJS.Timeout
  streams: number
  /** Whether one of its requests has had a valid token. */
  isTrusted: boolean
}

/**
 * Serves HTTP/2 on connections whose clients chose it. Limits and refusals are those of HTTP/1.1, except for
 * what the protocol decides: docs/tls.md#http2
 */
export class Http2Sessions {
  readonly #options: ConnectionOptions
  readonly #handler: RequestListener
  readonly #server: Http2Server
  readonly #sessions = new Map<Http2Session, Session>()
  #isEnding = false

  constructor(options: ConnectionOptions, handler: RequestListener) {
    this.#options = options
    this.#handler = handler
    const { maxBytes, maxFields } = options.head
    this.#server = createServer({
      maxHeaderListPairs: maxFields + surplusFields,
      maxSessionMemory: sessionMemory,
      streamResetBurst: mostResets,
      streamResetRate: resetsPerSecond,
      // beyond our own limit too
      settings: {
        maxConcurrentStreams: mostStreamsOfStrangers,
        maxHeaderListSize: 2 * maxBytes + mostCredentialBytes,
      },
    } as Parameters<typeof createServer>[0])
    this.#server.on('stream', (stream, headers, _flags, rawHeaders) =>
      this.#receive(stream as ServerHttp2Stream, headers, rawHeaders),
    )
  }

  /** The number of open connections. */
  get count(): number {
    return this.#sessions.size
  }

  take(socket: TLSSocket, connection: Connection): void {
    this.#server.once('session', (session) => this.#open(session, socket, connection))
    this.#server.emit('connection', socket)
  }

  /** Asks clients to make no more requests; those on their way are served. */
  endConnections(): void {
    this.#isEnding = true
    for (const session of this.#sessions.keys())
      if (!session.closed) session.goaway(constants.NGHTTP2_NO_ERROR, anyStream)
  }

  /** Ends each connection once its requests are answered, so at once those that are idle. */
  close(): void {
    for (const [session, { streams }] of this.#sessions) {
      if (streams === 0) session.destroy()
      else session.close()
    }
  }

  abort(): void {
    for (const session of this.#sessions.keys()) session.destroy()
  }

  #open(session: ServerHttp2Session, socket: TLSSocket, connection: Connection): void {
    const { headerTimeoutMs, idleTimeoutMs } = this.#options
    const idle = setTimeout(() => this.#endIfIdle(session), idleTimeoutMs)
    const silent = setTimeout(() => session.destroy(), headerTimeoutMs)
    session.once('remoteSettings', () => clearTimeout(silent))
    // sockets may stay half open, but a client of HTTP/2 that sends nothing more is gone
    socket.once('end', () => session.destroy())
    this.#sessions.set(session, { http2: session, socket, connection, idle, streams: 0, isTrusted: false })
    session.once('close', () => {
      clearTimeout(idle)
      clearTimeout(silent)
      this.#sessions.delete(session)
    })
    if (this.#isEnding) session.goaway(constants.NGHTTP2_NO_ERROR, anyStream)
  }

  #endIfIdle(session: ServerHttp2Session): void {
    const known = this.#sessions.get(session)
    if (known?.streams !== 0) return
    session.close()
    cutOffIfIdle(known)
  }

  #receive(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void {
    // a stream that has closed has no session
    const { session: frames } = stream
    const session = frames && this.#sessions.get(frames)
    if (frames === undefined || session === undefined) {
      stream.destroy()
      return
    }
    // the errors of a stream are its client's; what waits for the stream learns that it is closed
    stream.on('error', () => {})
    // a streamed body alone has as many as Node.js expects
    stream.setMaxListeners(0)
    session.streams += 1
    stream.once('close', () => {
      session.streams -= 1
      session.idle.refresh()
      cutOffIfIdle(session)
    })
    const begin = () => {
      if (!stream.closed && !stream.destroyed) this.#begin(stream, { session, frames, headers, rawHeaders })
    }
    // requests that their client gives up in the packet that brings them cost nothing more; a body must find its reader
    if (stream.endAfterHeaders) setImmediate(begin)
    else begin()
  }

  #begin(stream: ServerHttp2Stream, { session, frames, headers, rawHeaders }: Arrived): void {
    const [request, response] = messagesOf(stream, { headers, rawHeaders, socket: session.socket })
    this.#follow(session, stream, response)
    const line = { destroy: () => stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM) }
    if (!this.#options.connections.beginStream(session.connection, line, request, response)) return
    response.once('close', () => {
      if (request.call?.caller !== undefined) trust(session, frames)
    })
    const refusal = headRefusal(request, this.#options.head)
    if (refusal !== undefined) {
      forgetHead(request)
      this.#refuse(stream, response, refusal)
      return
    }
    if (headers.expect !== undefined) stream.additionalHeaders({ ':status': 100 })
    this.#handler(request, response)
  }

  /** Keeps the time limits of connection and request. */
  #follow(session: Session, stream: ServerHttp2Stream, response: ServerResponse): void {
    const limit = stream.endAfterHeaders
      ? undefined
      : setTimeout(() => this.#refuse(stream, response, 408), this.#options.bodyTimeoutMs)
    stream.once('end', () => clearTimeout(limit))
    // the rest of the request is of no use any more, and its client may never send it (RFC 9113 §8.1)
    stream.once('finish', () => {
      if (!stream.endAfterHeaders && !stream.readableEnded) stream.close()
    })
    response.once('close', () => {
      clearTimeout(limit)
      if (!response.shouldKeepAlive) session.http2.close()
    })
  }

  /** Responds, unless a response has begun, and reads nothing more of the request. */
  #refuse(stream: ServerHttp2Stream, response: ServerResponse, status: RawStatus): void {
    this.#options.onRefused(status)
    if (response.headersSent) {
      stream.close(constants.NGHTTP2_CANCEL)
      return
    }
    response.writeHead(status, refusalHeaders(status, this.#options.common))
    response.end(emptyErrors)
  }
}

/** Allows a connection that has shown a valid token as many requests at the same time as others. */
function trust(session: Session, frames: Http2Session): void {
  if (session.isTrusted || frames.closed || frames.destroyed) return
  session.isTrusted = true
  frames.settings({ maxConcurrentStreams: mostStreams })
}

/** Node's messages of HTTP/2, whose members mean what those of HTTP/1.1 mean, as far as the server uses them. */
function messagesOf(
  stream: ServerHttp2Stream,
  head: {
    readonly headers: IncomingHttpHeaders
    readonly rawHeaders: readonly string[]
    readonly socket: Socket
  },
): [request: IncomingMessage, response: ServerResponse] {
  const compatible = new Http2ServerRequest(stream, head.headers, {}, head.rawHeaders)
  // Node's own getter throws once the connection is gone
  Object.defineProperty(compatible, 'socket', { value: head.socket })
  const request = compatible as unknown as IncomingMessage
  const response = new Http2ServerResponse(stream) as unknown as ServerResponse
  // false once the connection accepts no requests after this one
  response.shouldKeepAlive = true
  // Node's has no such member
  Object.defineProperty(response, 'writableNeedDrain', { get: () => stream.writableNeedDrain })
  return [request, response]
}

/** Node.js waits until the client closes its side too, without end if the client only keeps it open. */
function cutOffIfIdle({ http2, socket, streams }: Session): void {
  if (!http2.closed || streams > 0) return
  const cutOff = setTimeout(() => socket.destroy(), closingMs)
  http2.once('close', () => clearTimeout(cutOff))
}

/** What is wrong with a head that the protocol allows. */
function headRefusal(request: IncomingMessage, limits: HeadLimits): RawStatus | undefined {
  const { url = '', method, headers } = request
  if (method === 'CONNECT') return 405
  if (headers.expect !== undefined && headers.expect !== '100-continue') return 417
  if (isTooLarge(request, limits)) return 431
  return url.length > maxTargetBytes ? 414 : undefined
}
