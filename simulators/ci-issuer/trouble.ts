import type { IncomingMessage, ServerResponse } from 'node:http'
import type { JWK } from 'jose'

/** The documents that can be faulty. */
export const documents = ['discovery', 'jwks'] as const
export type Document = (typeof documents)[number]

/** A fault of the issuer. */
export type Trouble =
  /** The correct response, `delayMs` milliseconds late. */
  | { kind: 'slow'; delayMs: number }
  /** The issuer reads the request and never responds. */
  | { kind: 'silent' }
  /** The head and one byte at once, then one byte every `everyMs` milliseconds, without end. */
  | { kind: 'trickle'; everyMs: number }
  /** The connection is closed in the middle of the body. */
  | { kind: 'cut' }
  | { kind: 'status'; status: number }
  /** A login page with status 200, as a captive proxy would send. */
  | { kind: 'html' }
  | { kind: 'broken-json' }
  /** The correct response in a body of at least `bytes` bytes. `chunked` hides the length. */
  | { kind: 'huge'; bytes: number; chunked?: boolean }
  /** Discovery names another issuer. */
  | { kind: 'foreign-issuer'; issuer: string }
  /** `count` well-formed keys before the real ones. */
  | { kind: 'many-keys'; count: number }
  /** `count` redirects to the same place, then the correct response. */
  | { kind: 'redirects'; count: number }
  /** A redirect to any URL. */
  | { kind: 'redirect-to'; url: string }

export type Sabotage = {
  trouble: Trouble
  request: IncomingMessage
  response: ServerResponse
  /** The correct response. */
  body: Record<string, unknown>
  /** Aborts pending responses when the issuer closes. */
  signal: AbortSignal
}

/** Responds with the ordered fault. */
export function answerWrongly(sabotage: Sabotage): void {
  const { trouble, response, body } = sabotage
  switch (trouble.kind) {
    case 'slow':
      answerLater(sabotage, trouble.delayMs)
      break
    case 'silent':
      break
    case 'trickle':
      answerByteByByte(sabotage, trouble.everyMs)
      break
    case 'cut':
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 4096 })
      response.write('{"', () => response.destroy())
      break
    case 'status':
      response.writeHead(trouble.status, { 'content-type': 'text/plain' }).end('out of order\n')
      break
    case 'html':
      response
        .writeHead(200, { 'content-type': 'text/html' })
        .end('<!doctype html><title>Sign in</title><form></form>\n')
      break
    case 'broken-json':
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body).slice(0, -2))
      break
    case 'huge':
      answerHuge(sabotage, trouble.bytes, trouble.chunked ?? false)
      break
    case 'foreign-issuer':
      sendJson(response, { ...body, issuer: trouble.issuer })
      break
    case 'many-keys':
      sendJson(response, { ...body, keys: [...fillerKeys(trouble.count), ...listOf(body.keys)] })
      break
    case 'redirects':
      answerRedirects(sabotage, trouble.count)
      break
    case 'redirect-to':
      response.writeHead(302, { location: trouble.url }).end()
      break
  }
}

/** Sends a complete JSON response. */
export function sendJson(response: ServerResponse, body: unknown): void {
  const text = JSON.stringify(body)
  response
    .writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      'cache-control': 'no-store',
    })
    .end(text)
}

function answerLater({ response, body, signal }: Sabotage, delayMs: number): void {
  const timer = setTimeout(() => sendJson(response, body), delayMs)
  stopWith(timer, response, signal)
}

function answerByteByByte({ response, signal }: Sabotage, everyMs: number): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.write('{')
  const timer = setInterval(() => response.write(' '), everyMs)
  stopWith(timer, response, signal)
}

function stopWith(timer: NodeJS.Timeout, response: ServerResponse, signal: AbortSignal): void {
  response.on('close', () => clearTimeout(timer))
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true })
}

function answerHuge({ response, body }: Sabotage, bytes: number, chunked: boolean): void {
  const text = JSON.stringify({ ...body, padding: 'x'.repeat(bytes) })
  const head = { 'content-type': 'application/json' }
  response.writeHead(200, chunked ? head : { ...head, 'content-length': Buffer.byteLength(text) })
  response.end(text)
}

function answerRedirects({ request, response, body }: Sabotage, count: number): void {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://issuer.invalid')
  const hop = Number(searchParams.get('hop') ?? 0)
  if (hop < count) response.writeHead(302, { location: `${pathname}?hop=${hop + 1}` }).end()
  else sendJson(response, body)
}

/**
 * Well-formed JWKs of the right length. Their points are not on the curve: they only test a limit on the
 * count.
 */
function* fillerKeys(count: number): Generator<JWK> {
  const coordinate = Buffer.alloc(32)
  for (let index = 0; index < count; index++) {
    coordinate.writeUInt32BE(index)
    const text = coordinate.toString('base64url')
    yield { kty: 'EC', crv: 'P-256', use: 'sig', kid: `filler-${index}`, x: text, y: text }
  }
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
