import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyReply, onSendHookHandler } from 'fastify'
import { answerIsMade, type Call, callOf } from '../exchange/call.ts'
import type { Capacity } from '../exchange/capacity.ts'
import type { CommonHeaders } from '../exchange/common-headers.ts'
import { forgetHead } from '../exchange/request-headers.ts'
import { bytesOf, type Payload } from './answer.ts'

export type HeadersParts = {
  readonly capacity: Capacity
  readonly common: CommonHeaders
  /** Each response closes its connection: the server stops. */
  isClosing(): boolean
}

/** The headers that all responses have in common. docs/contract/http.md#headers */
export const addHeaders =
  ({ capacity, common, isClosing }: HeadersParts): onSendHookHandler<Payload> =>
  (request, reply, payload, done) => {
    const { raw } = request
    const call = callOf(raw)
    const namespace = raw.headers['x-vault-namespace']
    common.addTo(reply, call.requestId, namespace)
    if (call.limitHeaders !== undefined) reply.headers(call.limitHeaders)
    allowOrigin(reply, call)
    setConnection(reply, isClosing())
    // a client that does not take its response must not keep others from theirs
    if (!(payload instanceof Readable)) capacity.leave(call)
    answerIsMade(call)
    const send = () => {
      endIfStalled(reply, payload)
      forgetHead(raw)
      return bodyOf(reply, payload, [namespace, call.crossOrigin?.origin])
    }
    if (closes(raw, reply.raw, isClosing()) && !raw.complete) return allOf(raw).then(send)
    return done(null, send())
  }

/** Allows the page to read this response. */
function allowOrigin(reply: FastifyReply, { crossOrigin }: Call): void {
  if (crossOrigin === undefined) return
  reply.headers(crossOrigin.headers)
  reply.header('access-control-allow-origin', crossOrigin.origin)
  const vary = reply.getHeader('vary')
  reply.header('vary', vary === undefined ? 'Origin' : `${String(vary)}, Origin`)
}

/** Fastify closes connections whose body was refused, but their clients may go on. HTTP/2 has no such header. */
function setConnection(reply: FastifyReply, isClosing: boolean): void {
  const { raw, request } = reply
  const isSet = reply.hasHeader('connection')
  if (request.raw.httpVersionMajor !== 1) {
    if (isSet) reply.removeHeader('connection')
  } else if (isClosing) reply.header('connection', 'close')
  else if (isSet) reply.header('connection', raw.shouldKeepAlive ? 'keep-alive' : 'close')
}

/** Over HTTP/2, a response ends no connection. */
const closes = (
  { httpVersionMajor }: IncomingMessage,
  response: ServerResponse,
  isClosing: boolean,
): boolean => httpVersionMajor === 1 && (isClosing || !response.shouldKeepAlive)

/**
 * Reads and drops the rest of a request before a response that closes the connection: closing it while the client
 * still writes could discard the response. BODY_TIMEOUT bounds the wait.
 */
const allOf = (request: IncomingMessage): Promise<void> =>
  new Promise((resolve) => {
    // one that announces no body has nothing to read, and no `close` follows
    if (request.destroyed) {
      resolve()
      return
    }
    request.once('close', resolve)
    request.resume()
  })

/** A client that takes nothing of a body for this long is disconnected: what it holds is scarce. */
const stalledMs = 60_000
/** Shorter responses fit into what the system keeps for a connection of HTTP/1.1. */
const shortBytes = 64 * 1024

/**
 * A stream whose length is not known may be silent as long as it likes. Node.js keeps its own time limit of a stream of
 * HTTP/2, with the request, after the stream is gone.
 */
function endIfStalled(reply: FastifyReply, payload: Payload): void {
  const { raw, request } = reply
  const { stream } = request.raw
  const isEndless = payload instanceof Readable && !reply.hasHeader('content-length')
  const isLong = stream !== undefined || bytesOf(reply, payload) > shortBytes
  if (!isLong || isEndless || (stream ?? raw).destroyed) return
  const limit = setTimeout(() => raw.destroy(), stalledMs).unref()
  raw.on('drain', () => limit.refresh())
  raw.once('close', () => clearTimeout(limit))
}

const beyondAscii = /[^\x00-\x7f]/

/**
 * The body as it is sent. A 204 has neither body nor Content-Length (RFC 9110 §8.6). Node.js writes head and text
 * together in the encoding of the text, so a text beside a header that repeats bytes beyond ASCII is sent as bytes.
 */
function bodyOf(
  reply: FastifyReply,
  payload: Payload,
  repeated: readonly (string | string[] | undefined)[],
): Payload | null {
  const { statusCode } = reply
  if (payload === '' || statusCode === 204) {
    // Fastify calls an empty text plain text
    if (reply.getHeader('content-type') === 'text/plain; charset=utf-8') reply.removeHeader('content-type')
    if (statusCode !== 204 && statusCode !== 304) reply.header('content-length', '0')
    return null
  }
  if (payload instanceof Readable) return payload
  const needsBytes = repeated.some((value) => typeof value === 'string' && beyondAscii.test(value))
  const body = needsBytes && typeof payload === 'string' ? Buffer.from(payload) : payload
  return bytesOf(reply, body) > shortBytes ? inParts(reply, body) : body
}

/** A layer below, such as TLS, copies what it is given: not all of it while the client takes nothing. */
function inParts(reply: FastifyReply, body: string | Buffer): Readable {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  reply.header('content-length', String(bytes.length))
  return Readable.from(partsOf(bytes), { objectMode: false })
}

function* partsOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += shortBytes) yield bytes.subarray(at, at + shortBytes)
}
