import { Buffer, type NonSharedBuffer } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { CommonHeaders } from '../exchange/common-headers.ts'
import { ChunkWalk } from './chunk-walk.ts'
import type { LargeHeads } from './large-heads.ts'
import { answerAndClose, type RawStatus } from './raw-errors.ts'

/** The HTTP server's `data` listener on a socket, which passes bytes to Node's parser. */
type Parse = (bytes: NonSharedBuffer) => void

export type FeedRules = {
  readonly headerTimeoutMs: number
  readonly large: LargeHeads
  /** The headers of refusals. */
  readonly common: CommonHeaders
  onRefused(status: RawStatus): void
}

/** The position of the next byte within a message. */
type Phase = 'start' | 'head' | 'counted' | 'chunked' | 'trailer' | 'closed'

/** Verbs that Node's parser accepts in every version. All others, including `CONNECT`, are replaced. */
const nativeVerbs: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'])

/** Requests of one connection at the same time; more wait, so that a client that takes no responses keeps little. */
const mostAtOnce = 8

/** Requests that change nothing, so that several may run at once on one connection. RFC 9112 §9.3.2 */
const safeVerbs: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'LIST', 'SCAN'])

/**
 * What the parser reads instead of a verb that it does not know; the handler gets the verb as sent. Not
 * `GET`, which the parser also accepts for RTSP.
 */
const carrier = Buffer.from('PUT')

const longestVerb = 32

/**
 * The one token that no request may use (RFC 9113 §3.4): the first word of HTTP/2, at which Node closes the
 * connection without a response.
 */
const http2Preface = 'PRI'

const lf = 0x0a
const cr = 0x0d
const space = 0x20
const blankLine = Buffer.from('\n\r\n')

/** RFC 9110 §5.6.2 `tchar`, by byte. */
const isTokenByte = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[!#$%&'*+\-.^_`|~0-9A-Za-z]/.test(String.fromCharCode(byte)) ? 1 : 0,
)

/**
 * Sits between one socket and Node's parser and allows any method token. Only the parser decides where a
 * message ends. The feed passes the bytes in pieces that end where a message may end (after a blank line of
 * head or trailers, or after as many bytes as `Content-Length` said), checks after each piece whether the
 * request is complete, and reads a method token only then. So nothing inside a body can be taken for one; a
 * request that is complete where it cannot be closes the connection.
 */
export class RequestFeed {
  readonly #socket: Socket
  readonly #parse: Parse
  #phase: Phase = 'start'
  readonly #rules: FeedRules
  #held: NonSharedBuffer | undefined
  #heldSince: NodeJS.Timeout | undefined
  #verb: string | undefined
  #request: IncomingMessage | undefined
  #response: ServerResponse | undefined
  /** Requests whose responses their client has not taken. */
  #underWay = 0
  /** Whether all requests whose responses are under way are safe. */
  #onlySafe = true
  /** The response whose end lets the connection be read again. */
  #awaited: ServerResponse | undefined
  #bytesLeft = 0
  /** Of the head that arrives. */
  #headBytes = 0
  #isLargeHead = false
  #chunks: ChunkWalk | undefined

  constructor(socket: Socket, parse: Parse, rules: FeedRules) {
    this.#socket = socket
    this.#parse = parse
    this.#rules = rules
    socket.once('close', () => this.stop())
  }

  /** Takes bytes from the wire. */
  take(bytes: NonSharedBuffer): void {
    let chunk = bytes
    if (this.#held !== undefined) {
      chunk = Buffer.concat([this.#held, bytes])
      this.#held = undefined
    }
    let at = 0
    while (at < chunk.length && this.#phase !== 'closed') {
      if (this.#socket.isPaused()) {
        this.#socket.unshift(chunk.subarray(at))
        return
      }
      at =
        this.#phase === 'start' ? this.#readVerb(chunk, at) : this.#feed(chunk, at, this.#pieceEnd(chunk, at))
    }
  }

  /**
   * Called with each request that the parser reports, before any handler. Restores the verb that the client
   * sent. Returns false if no request can begin here; the connection is then closed.
   */
  accept(request: IncomingMessage, response: ServerResponse): boolean {
    if (this.#phase !== 'head' || this.#request !== undefined) {
      this.abort()
      return false
    }
    this.#request = request
    this.#response = response
    this.#underWay += 1
    response.on('close', () => this.#ended(response))
    if (this.#verb !== undefined) {
      request.method = this.#verb
      this.#verb = undefined
    }
    return true
  }

  /** Reads nothing more from this connection. Pending responses are still sent. */
  stop(): void {
    this.#phase = 'closed'
    this.#release()
    this.#leaveLarge()
  }

  /**
   * Refuses the client's last request, after the responses that precede it, and closes. Never sends two
   * responses to one request.
   */
  refuse(status: RawStatus): void {
    if (this.#phase === 'closed') return
    const response = this.#response
    const answered = response === undefined || response.writableFinished
    const midRequest = this.#request?.complete === false
    const answer = () => answerAndClose(this.#socket, status, this.#rules.common)
    this.#rules.onRefused(status)
    this.stop()
    if (!midRequest) answered ? answer() : response.once('close', answer)
    else if (response === undefined || response.headersSent) this.#socket.destroy()
    else if (response.socket === null) response.once('socket', answer)
    else answer()
  }

  /** Closes the connection if it waits for a request and its client has taken all responses. */
  closeIfIdle(): void {
    const isWaiting = this.#phase === 'start' && this.#held === undefined
    if (isWaiting && this.#isAlone && this.#socket.writableLength === 0) this.abort()
  }

  /** Closes the connection at once, without a response. */
  abort(): void {
    this.stop()
    this.#socket.destroy()
  }

  /** At the start of a message: reads its method token and returns where the rest begins. */
  #readVerb(chunk: NonSharedBuffer, from: number): number {
    let at = from
    while (chunk[at] === cr || chunk[at] === lf) at++
    let end = at
    while (end < chunk.length && end - at <= longestVerb && isTokenByte[chunk[end] ?? 0] === 1) end++
    if (end === chunk.length && end - at <= longestVerb) {
      if (end > at) this.#hold(chunk.subarray(at))
      return end
    }
    if (this.#heldSince !== undefined) this.#release()
    if (end === at || end - at > longestVerb || chunk[end] !== space) {
      this.refuse(400)
      return chunk.length
    }
    const verb = chunk.toString('latin1', at, end)
    if (verb === http2Preface) {
      this.refuse(405)
      return chunk.length
    }
    if (this.#mustWait(verb)) return at
    this.#phase = 'head'
    this.#request = undefined
    this.#headBytes = 0
    if (nativeVerbs.has(verb)) return this.#feed(chunk, at, this.#pieceEnd(chunk, at))
    this.#verb = verb
    this.#parse(carrier)
    return end
  }

  get #isAlone(): boolean {
    const before = this.#response
    return before === undefined || before.writableFinished || before.destroyed
  }

  /** After a response that closes the connection, no further request is served. RFC 9112 §9.6 */
  #ended(response: ServerResponse): void {
    this.#underWay -= 1
    if (response.shouldKeepAlive) this.#forget()
    else this.stop()
  }

  /** An idle connection keeps nothing of its last request, such as a token. */
  #forget(): void {
    if (this.#phase !== 'start' || this.#response?.destroyed !== true) return
    this.#request = undefined
    this.#response = undefined
    this.#awaited = undefined
  }

  /** A request that may change something runs alone: it sees what earlier ones did, and later ones see its effect. */
  #mustWait(verb: string): boolean {
    const before = this.#response
    const isSafe = safeVerbs.has(verb)
    if (before === undefined || this.#isAlone) this.#onlySafe = isSafe
    else if (!isSafe || !this.#onlySafe || this.#underWay >= mostAtOnce) this.#waitFor(before)
    return this.#socket.isPaused()
  }

  #waitFor(response: ServerResponse): void {
    this.#socket.pause()
    if (this.#awaited === response) return
    this.#awaited = response
    response.once('close', () => this.#socket.resume())
  }

  /**
   * Keeps the first bytes of a verb until the rest arrives. The parser does not know them, so its timeout
   * does not run yet.
   */
  #hold(bytes: NonSharedBuffer): void {
    this.#held = Buffer.from(bytes)
    this.#heldSince ??= setTimeout(() => this.refuse(408), this.#rules.headerTimeoutMs)
  }

  #release(): void {
    clearTimeout(this.#heldSince)
    this.#heldSince = undefined
    this.#held = undefined
  }

  /** The end of the next piece for the parser: no message ends before it. */
  #pieceEnd(chunk: NonSharedBuffer, at: number): number {
    if (this.#phase === 'counted') return Math.min(chunk.length, at + this.#bytesLeft)
    if (this.#phase === 'chunked' && this.#chunks !== undefined) return this.#chunks.advance(chunk, at)
    if (chunk[at] === lf) return at + 1
    if (chunk[at] === cr && chunk[at + 1] === lf) return at + 2
    const found = chunk.indexOf(blankLine, at)
    return found === -1 ? chunk.length : found + blankLine.length
  }

  #feed(chunk: NonSharedBuffer, from: number, to: number): number {
    if (!this.#hasRoom(to - from)) {
      this.refuse(431)
      return chunk.length
    }
    this.#parse(from === 0 && to === chunk.length ? chunk : chunk.subarray(from, to))
    if (this.#request !== undefined) this.#leaveLarge()
    if (this.#phase === 'counted') this.#bytesLeft -= to - from
    if (this.#phase !== 'closed' && this.#request !== undefined) this.#advance(this.#request)
    return to
  }

  /** Whether so many more bytes may come now. A large head needs a place until it has arrived; trailers have none. */
  #hasRoom(bytes: number): boolean {
    const { large } = this.#rules
    const isTrailer = this.#phase === 'trailer'
    if (!isTrailer && (this.#phase !== 'head' || this.#request !== undefined)) return true
    this.#headBytes += bytes
    if (this.#isLargeHead || !large.isLarge(this.#headBytes)) return true
    if (!isTrailer) this.#isLargeHead = large.enter()
    return this.#isLargeHead
  }

  #leaveLarge(): void {
    if (this.#isLargeHead) this.#rules.large.leave()
    this.#isLargeHead = false
  }

  #advance(request: IncomingMessage): void {
    if (this.#phase === 'head' && !request.complete) this.#expectBody(request)
    else if (this.#phase === 'counted' && (this.#bytesLeft === 0) !== request.complete) this.abort()
    else if (this.#phase === 'chunked') this.#followChunks(request)
    else if (request.complete) this.#endMessage()
  }

  #followChunks(request: IncomingMessage): void {
    if (request.complete) this.abort()
    else if (this.#chunks?.last === true) {
      this.#phase = 'trailer'
      this.#headBytes = 0
    }
  }

  #endMessage(): void {
    if (this.#response?.shouldKeepAlive === true) this.#phase = 'start'
    else this.stop()
    this.#forget()
  }

  #expectBody(request: IncomingMessage): void {
    this.#bytesLeft = Number(request.headers['content-length'] ?? 0)
    if (request.headers['transfer-encoding'] !== undefined) {
      this.#phase = 'chunked'
      this.#chunks = new ChunkWalk()
    } else if (this.#bytesLeft > 0) this.#phase = 'counted'
    else this.abort()
  }
}
