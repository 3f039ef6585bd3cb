import { Buffer, type NonSharedBuffer } from 'node:buffer'
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { Socket } from 'node:net'
import { Writable } from 'node:stream'
import { httpDate } from './http-date.ts'
import type { ReadHead } from './known-head.ts'

declare module 'node:http' {
  interface IncomingMessage {
    /** The body that came with the head, completely. */
    readonly cameWith?: NonSharedBuffer | undefined
  }
  interface ServerResponse {
    /** Where a body is streamed to, if not to the response itself. */
    bodySink?(): Writable
  }
}

type Listener = () => void

/**
 * A request that was read without Node's parser, completely. Its members mean the same as those of Node's class, whose
 * streams and events cost as much as the rest of a small request.
 */
export class LeanRequest {
  readonly httpVersion = '1.1'
  readonly complete = true
  /** Nothing is left to read. */
  readonly destroyed = true
  readonly headers: IncomingHttpHeaders
  readonly socket: Socket
  readonly cameWith: NonSharedBuffer | undefined
  method: string
  url: string
  readonly #head: ReadHead

  constructor(head: ReadHead, socket: Socket, body: NonSharedBuffer | undefined) {
    this.method = head.method
    this.url = head.url
    this.headers = head.headers
    this.socket = socket
    this.cameWith = body
    this.#head = head
  }

  get rawHeaders(): string[] {
    return this.#head.rawHeaders()
  }
}

/** Beyond what a header value may contain. RFC 9110 §5.5 */
const forbidden = /[^\t\x20-\x7e\x80-\xff]/

/** A response that is written to its connection without Node's class, as that class would write it. */
export class LeanResponse {
  readonly req: LeanRequest
  readonly socket: Socket
  statusCode = 200
  /** False: the connection closes after this response. */
  shouldKeepAlive = true
  headersSent = false
  /** The system has taken it completely. */
  writableFinished = false
  destroyed = false
  /** Node.js sets it when the client has ended its side: the connection closes after this response. */
  _last = false
  /** The header lines that tell how long the connection stays open. */
  readonly #staysOpen: string
  readonly #onClose: Listener[] = []
  #headers: OutgoingHttpHeaders = {}
  #isChunked = false
  #isEnded = false
  #sink: Writable | undefined
  #onTimeout: Listener | undefined
  /** The time limit of the idle connection, in milliseconds, while the response has its own. */
  #idleMs: number | undefined

  constructor(req: LeanRequest, staysOpen: string) {
    this.req = req
    this.socket = req.socket
    this.#staysOpen = staysOpen
  }

  /** The response has been handed over completely. */
  get writableEnded(): boolean {
    return this.#isEnded || this.#sink?.writableEnded === true
  }

  once(_event: 'close', listener: Listener): this {
    this.#onClose.push(listener)
    return this
  }

  /** Node.js tells the message of a socket about its events; they are the connection's. */
  emit(): boolean {
    return false
  }

  /** The head is sent with what follows. */
  writeHead(status: number, headers: OutgoingHttpHeaders): this {
    this.statusCode = status
    this.#headers = headers
    return this
  }

  flushHeaders(): void {
    if (!this.headersSent) this.#write(this.#headOf(undefined))
  }

  writeContinue(): void {
    if (this.socket.writable) this.socket.write('HTTP/1.1 100 Continue\r\n\r\n')
  }

  end(body?: string | Buffer): void {
    this.#send(
      this.#headOf(body === undefined ? 0 : Buffer.byteLength(body)),
      this.#takesBody ? body : undefined,
    )
  }

  /** Sends a response with this status line and these header lines. */
  endWith(lines: string, body: string | Buffer | undefined, rest: Buffer | undefined): void {
    this.#send(this.#completed(lines), body, rest)
  }

  /** Where a body is streamed to; its head is sent at once. */
  bodySink(): Writable {
    this.flushHeaders()
    this.#sink ??= new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        // if it fails, the connection closes, and what writes here is told by `lost`
        const written = (error?: Error | null) => {
          if (!error) done()
        }
        if (!this.#isChunked) this.#write(chunk, written)
        else {
          this.#write(`${chunk.length.toString(16)}\r\n`)
          this.#write(chunk)
          this.#write('\r\n', written)
        }
      },
      final: (done) => {
        this.#write(this.#isChunked ? '0\r\n\r\n' : '', this.#finish)
        done()
      },
      destroy: (error, done) => {
        // the client must see that the body is incomplete
        if (!this.writableEnded) this.destroy()
        done(error)
      },
    })
    return this.#sink
  }

  /** Calls `listener` if neither side sends anything for this long before the response has been sent. */
  setTimeout(ms: number, listener: Listener): void {
    this.#idleMs ??= this.socket.timeout ?? 0
    this.#onTimeout = listener
    this.socket.setTimeout(ms)
  }

  /** Must be called when nothing was sent or received for the time limit of the connection. */
  timedOut(): void {
    this.#onTimeout?.()
  }

  destroy(): void {
    this.destroyed = true
    this.socket.destroy()
  }

  /** Must be called when the connection has closed. */
  lost(): void {
    this.#sink?.destroy()
    this.#close()
  }

  get #takesBody(): boolean {
    const { statusCode } = this
    return statusCode !== 204 && statusCode !== 304 && statusCode >= 200
  }

  #send(head: string, body: string | Buffer | undefined, rest?: Buffer): void {
    const { socket } = this
    this.#isEnded = true
    if (body === undefined) this.#write(head, this.#finish)
    else if (typeof body === 'string' && rest === undefined) this.#write(head + body, this.#finish, 'utf8')
    else {
      socket.cork()
      if (typeof body === 'string') this.#write(head + body, undefined, 'utf8')
      else {
        this.#write(head)
        this.#write(body, rest === undefined ? this.#finish : undefined)
      }
      if (rest !== undefined) this.#write(rest, this.#finish)
      socket.uncork()
    }
  }

  /** Does nothing if the connection is closing: its end is reported elsewhere. */
  #write(
    data: string | Buffer,
    done?: (error?: Error | null) => void,
    encoding: 'latin1' | 'utf8' = 'latin1',
  ): void {
    this.headersSent = true
    if (this.socket.writable) this.socket.write(data, encoding, done)
  }

  readonly #finish = (error?: Error | null): void => {
    if (error) return
    this.writableFinished = true
    if (!this.shouldKeepAlive || this._last) this.socket.destroySoon()
    else if (this.#idleMs !== undefined) this.socket.setTimeout(this.#idleMs)
    this.#close()
  }

  #close(): void {
    this.destroyed = true
    for (const listener of this.#onClose.splice(0)) listener()
  }

  /** The head of a response whose body has `bytes`; undefined for a body that is streamed. */
  #headOf(bytes: number | undefined): string {
    const { statusCode } = this
    let lines = statusLine(statusCode)
    let hasLength = !this.#takesBody
    for (const name in this.#headers) {
      const value = String(this.#headers[name])
      if (forbidden.test(value)) throw new TypeError(`the header ${name} contains a forbidden character`)
      if (name === 'content-length') hasLength = true
      if (name === 'connection') this.shouldKeepAlive = false
      lines += `${name}: ${value}\r\n`
    }
    if (hasLength) return this.#completed(lines)
    this.#isChunked = bytes === undefined
    return this.#completed(
      lines,
      this.#isChunked ? 'Transfer-Encoding: chunked\r\n' : `Content-Length: ${bytes}\r\n`,
    )
  }

  #completed(lines: string, framing = ''): string {
    const connection = this.shouldKeepAlive
      ? this.#staysOpen
      : this.#headers.connection === undefined
        ? 'Connection: close\r\n'
        : ''
    return `${lines}Date: ${httpDate()}\r\n${connection}${framing}\r\n`
  }
}

export const statusLine = (status: number): string =>
  `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`

/** The server uses only members that both classes of requests and responses have. */
export const asNodeMessages = (
  request: LeanRequest,
  response: LeanResponse,
): [request: IncomingMessage, response: ServerResponse] => [
  request as unknown as IncomingMessage,
  response as unknown as ServerResponse,
]
