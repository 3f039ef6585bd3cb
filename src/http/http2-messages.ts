import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

declare module 'node:http' {
  interface IncomingMessage {
    /** The stream of a request of HTTP/2: it ends with the request, unlike the socket. */
    readonly stream?: Duplex
  }
}

type Listener = (...args: never[]) => void

/** The events of a message are those of its stream. */
class Http2Message {
  readonly stream: ServerHttp2Stream

  constructor(stream: ServerHttp2Stream) {
    this.stream = stream
  }

  get destroyed(): boolean {
    return this.stream.destroyed
  }

  on(event: string, listener: Listener): this {
    this.stream.on(event, listener as () => void)
    return this
  }

  once(event: string, listener: Listener): this {
    this.stream.once(event, listener as () => void)
    return this
  }

  destroy(): void {
    this.stream.destroy()
  }
}

/**
 * A request of HTTP/2 whose members mean the same as those of one of HTTP/1.1. Node's own class puts a second
 * stream around the first, and its responses end with one more frame: a fifth of what a small request costs.
 */
export class Http2Request extends Http2Message {
  readonly httpVersion = '2.0'
  headers: IncomingHttpHeaders
  rawHeaders: readonly string[]
  /** Whether the response has no body. */
  readonly isHead: boolean
  /** Also when the request has ended. */
  readonly socket: Socket
  method: string
  url: string

  constructor(
    stream: ServerHttp2Stream,
    {
      headers,
      rawHeaders,
      socket,
    }: { headers: IncomingHttpHeaders; rawHeaders: readonly string[]; socket: Socket },
  ) {
    super(stream)
    this.headers = headers
    this.rawHeaders = rawHeaders
    this.socket = socket
    this.method = headers[':method'] ?? ''
    this.url = headers[':path'] ?? ''
    this.isHead = this.method === 'HEAD'
    // no client can send this header over HTTP/2; it tells that there is a body, whose length is not known
    if (!stream.endAfterHeaders && headers['content-length'] === undefined)
      headers['transfer-encoding'] = 'chunked'
  }

  /** Whether all of it was read. */
  get complete(): boolean {
    const { endAfterHeaders, readableEnded, aborted } = this.stream
    return endAfterHeaders || (readableEnded && !aborted)
  }

  resume(): this {
    this.stream.resume()
    return this
  }
}

export class Http2Response extends Http2Message {
  readonly req: Http2Request
  statusCode = 200
  /** False: the connection accepts no requests after this one. */
  shouldKeepAlive = true
  #isEnded = false
  #headers: OutgoingHttpHeaders | readonly string[] = {}

  constructor(request: Http2Request) {
    super(request.stream)
    this.req = request
  }

  /** The response has been handed over completely. */
  get writableEnded(): boolean {
    return this.#isEnded || (this.headersSent && this.stream.writableEnded)
  }

  /** It waits for its client. */
  get writableNeedDrain(): boolean {
    return this.stream.writableNeedDrain
  }

  get headersSent(): boolean {
    return this.stream.headersSent
  }

  /** The head is sent with what follows. */
  writeHead(status: number, headers: OutgoingHttpHeaders | readonly string[]): this {
    this.statusCode = status
    this.#headers = headers
    return this
  }

  flushHeaders(): void {
    this.#respond(false)
  }

  cork(): void {
    this.stream.cork()
  }

  uncork(): void {
    this.stream.uncork()
  }

  write(chunk: string | Buffer): void {
    this.#respond(false)
    if (this.#takesBody) this.stream.write(chunk)
  }

  end(chunk?: string | Buffer): void {
    this.#isEnded = true
    this.#respond(chunk === undefined)
    if (this.#takesBody) this.stream.end(chunk)
    // the rest of the request is of no use any more, and its client may never send it (RFC 9113 §8.1)
    if (!this.req.complete) this.stream.once('finish', () => this.stream.close())
  }

  setTimeout(ms: number, listener: () => void): void {
    this.stream.setTimeout(ms, listener)
  }

  /** Node.js ends the stream of a response without a body, and of every one to HEAD. */
  get #takesBody(): boolean {
    return !this.stream.writableEnded && !this.stream.destroyed
  }

  #respond(endStream: boolean): void {
    const { stream, statusCode } = this
    if (stream.headersSent || stream.destroyed || stream.closed) return
    const head = isFlat(this.#headers)
      ? [':status', String(statusCode), ...this.#headers]
      : headOf(statusCode, this.#headers)
    stream.respond(head, { endStream: endStream || this.req.isHead })
  }
}

const isFlat = (headers: OutgoingHttpHeaders | readonly string[]): headers is readonly string[] =>
  Array.isArray(headers)

/** Without the header that HTTP/2 does not have: there, a connection ends with GOAWAY. */
function headOf(status: number, headers: OutgoingHttpHeaders): OutgoingHttpHeaders {
  const head: OutgoingHttpHeaders = { ':status': status, ...headers }
  if (head.connection !== undefined) delete head.connection
  return head
}

/** The server uses only members of requests and responses that both versions of HTTP have. */
export const asHttp1 = (
  request: Http2Request,
  response: Http2Response,
): [request: IncomingMessage, response: ServerResponse] => [
  request as unknown as IncomingMessage,
  response as unknown as ServerResponse,
]
