import { Buffer } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline, type Writable } from 'node:stream'
import { LongText } from '../lib/long-text.ts'
import { callOf, type CrossOrigin } from './call.ts'
import type { CommonHeaders } from './common-headers.ts'
import type { StreamedBody } from './envelope.ts'
import type { Answer } from './exchange.ts'

/** Sends an answer: the only place that writes a response of the server. docs/contract/http.md#headers */
export function writeAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  { status, contentType, headers, body: made, stream: streamed }: Answer,
  { closes, common }: { readonly closes: boolean; readonly common: CommonHeaders },
): void {
  if (response.destroyed || request.stream?.destroyed === true) return
  // a 204 has neither body nor Content-Length (RFC 9110 §8.6), also where a client chose the status
  const body = status === 204 || made instanceof LongText ? undefined : made
  const longText = status !== 204 && made instanceof LongText ? made : undefined
  const bytes = longText?.bytes ?? streamed?.bytes
  const { requestId, crossOrigin, limitHeaders } = callOf(request)
  const namespace = request.headers['x-vault-namespace']
  const all = common.first(status, requestId, namespace)
  if (headers !== undefined) Object.assign(all, headers)
  if (contentType !== undefined) all['content-type'] = contentType
  if (bytes !== undefined) all['content-length'] = String(bytes)
  else if (body !== undefined && streamed === undefined)
    all['content-length'] = String(Buffer.byteLength(body))
  else if (streamed === undefined && status !== 204 && status !== 304) all['content-length'] = '0'
  if (limitHeaders !== undefined) Object.assign(all, limitHeaders)
  if (crossOrigin !== undefined) allowOrigin(all, crossOrigin)
  if (closes && request.stream === undefined) {
    all['connection'] = 'close'
    response.shouldKeepAlive = false
  }
  response.writeHead(status, all)
  const parts = longText ?? (isSmall(body) ? undefined : partsOf(body))
  if (parts !== undefined) {
    endIfStalled(response)
    if (request.stream !== undefined) response.flushHeaders()
    void sendParts(parts, sinkOf(request, response))
    return
  }
  if (streamed !== undefined) {
    sendStream(streamed, request, response)
    return
  }
  // small ones fit into what the system keeps for a connection of HTTP/1.1
  if (request.stream !== undefined) endIfStalled(response)
  response.end(bodyBeside(namespace, bodyBeside(crossOrigin?.origin, body)))
}

/** Longer responses are refused while too many bytes are held. docs/limits.md#overload */
export const smallAnswer = 64 * 1024

export const isSmall = (body: Answer['body']): boolean =>
  (body instanceof LongText ? body.bytes : (body?.length ?? 0)) <= smallAnswer

export const bodyBytes = (body: Answer['body']): number =>
  body instanceof LongText ? body.bytes : body === undefined ? 0 : Buffer.byteLength(body)

/** A client that takes nothing of a body for this long is disconnected: what it holds is scarce. */
const stalledMs = 60_000

const endIfStalled = (response: ServerResponse): void =>
  void response.setTimeout(stalledMs, () => response.destroy())

/** A layer below, such as TLS, copies what it is given: not all of it while the client takes nothing. */
function* partsOf(body: string | Buffer = ''): Generator<Buffer> {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  for (let at = 0; at < bytes.length; at += smallAnswer) yield bytes.subarray(at, at + smallAnswer)
}

/** Without a stream of its own, which leaves much to the garbage collector. Never rejects. */
async function sendParts(parts: LongText | Iterable<Buffer>, to: Writable): Promise<void> {
  for await (const part of parts) {
    if (to.destroyed || to.writableEnded) return
    if (!to.write(part)) await hasRoom(to)
  }
  if (!to.destroyed && !to.writableEnded) to.end()
}

/** Resolves once more can be written, or the client is gone. */
const hasRoom = (to: Writable): Promise<void> =>
  new Promise((resolve) => {
    const settle = () => {
      to.off('drain', settle)
      to.off('close', settle)
      resolve()
    }
    to.on('drain', settle)
    to.on('close', settle)
  })

function sendStream(
  { stream, bytes }: StreamedBody,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  response.flushHeaders()
  if (bytes !== undefined) endIfStalled(response)
  // a failure ends the connection, so that the client sees that the body is incomplete
  pipeline(stream, sinkOf(request, response), () => {})
}

/** Where the body of a response is streamed to. */
const sinkOf = ({ stream }: IncomingMessage, response: ServerResponse): Writable => stream ?? response

/** Allows the page to read this response. */
function allowOrigin(all: Record<string, string>, { origin, headers }: CrossOrigin): void {
  Object.assign(all, headers)
  all['access-control-allow-origin'] = origin
  all['vary'] = all['vary'] === undefined ? 'Origin' : `${all['vary']}, Origin`
}

const beyondAscii = /[^\x00-\x7f]/

/**
 * A body that may accompany a header that repeats a client's, which may have bytes beyond ASCII. Node.js writes
 * head and text together in the encoding of the text, so such header bytes would be encoded twice.
 * docs/contract/http.md#headers
 */
export function bodyBeside(
  repeated: string | string[] | undefined,
  body: string | Buffer | undefined,
): string | Buffer | undefined {
  return typeof body === 'string' && typeof repeated === 'string' && beyondAscii.test(repeated)
    ? Buffer.from(body)
    : body
}
