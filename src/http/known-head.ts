import type { NonSharedBuffer } from 'node:buffer'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

/** The head of a request. */
export type ReadHead = {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** Of the body, in bytes; undefined if the request announces none. */
  readonly bodyBytes: number | undefined
  /** Of the head, in bytes. */
  readonly bytes: number
  /** Names and values as sent, alternating. */
  rawHeaders(): string[]
}

/** Longer heads are parsed each time. In bytes. */
export const longestKnownHead = 4096

/** These differ from one request of a client to the next. Those of the first line are secret, and none is kept. */
const varyingHeaders: ReadonlySet<string> = new Set([
  ...['x-vault-token', 'authorization', 'proxy-authorization', 'cookie', 'x-vault-mfa'],
  ...['content-length', 'content-type', 'if-none-match', 'x-vault-namespace', 'x-vault-wrap-ttl'],
  ...['traceparent', 'tracestate', 'x-forwarded-for', 'x-request-id'],
])

/** What they say about message or connection is for the parser; of `set-cookie`, Node.js makes a list. */
const parsedHeaders: ReadonlySet<string> = new Set([
  ...['transfer-encoding', 'upgrade', 'expect', 'te', 'trailer', 'proxy-connection', 'http2-settings'],
  'set-cookie',
])

/** A target without a character that the parser would look at twice. RFC 3986 §3.3, RFC 9112 §3.2.1 */
const requestLine = /^(GET|LIST|SCAN|POST|PUT|PATCH|DELETE) (\/[\w\-.~%!$&'()*+,;=:@/?]*) HTTP\/1\.1$/

/** A name and a value that can be read in one way only. RFC 9110 §5 */
const headerLine = /^[A-Za-z][\w-]*: [!-~](?:[ -~]*[!-~])?$/
const plainValue = /^[!-~](?:[ -~]*[!-~])?$/
const plainLength = /^(?:0|[1-9]\d{0,6})$/

const lineEnd = '\r\n'

type Varying = { readonly name: string; readonly rawAt: number }

/**
 * The header lines of a request that Node's parser has read. A client sends the same ones with each request of a
 * connection, but for a few values. The same lines mean the same headers, whatever the request line says.
 * docs/decisions/0016-known-heads.md
 */
export class KnownHead {
  /** What lies between the varying values, from the end of the request line to the end of the head. */
  readonly #pieces: readonly string[]
  readonly #varying: readonly Varying[]
  /** Varying values are empty. */
  readonly #headers: IncomingHttpHeaders
  readonly #rawHeaders: readonly string[]

  private constructor(lines: readonly (readonly [name: string, value: string])[]) {
    const pieces: string[] = []
    const varying: Varying[] = []
    const headers: IncomingHttpHeaders = {}
    let piece = lineEnd
    for (const [index, [name, value]] of lines.entries()) {
      const key = name.toLowerCase()
      const varies = varyingHeaders.has(key)
      headers[key] = varies ? '' : value
      piece += `${name}: `
      if (varies) {
        varying.push({ name: key, rawAt: 2 * index + 1 })
        pieces.push(piece)
        piece = lineEnd
      } else piece += value + lineEnd
    }
    pieces.push(piece + lineEnd)
    this.#pieces = pieces
    this.#varying = varying
    this.#headers = headers
    this.#rawHeaders = lines.flatMap(([name, value]) => [
      name,
      varyingHeaders.has(name.toLowerCase()) ? '' : value,
    ])
  }

  /**
   * The header lines of `request`, whose head is the first `bytes` of `chunk`; undefined if such a request needs the
   * parser each time.
   */
  static of(
    chunk: NonSharedBuffer,
    bytes: number,
    { rawHeaders, httpVersion }: IncomingMessage,
  ): KnownHead | undefined {
    if (bytes > longestKnownHead || httpVersion !== '1.1') return undefined
    const text = chunk.toString('latin1', 0, bytes)
    const begin = text.indexOf(lineEnd) + lineEnd.length
    if (begin < lineEnd.length || !text.endsWith(lineEnd + lineEnd)) return undefined
    const sent = text.slice(begin, -2 * lineEnd.length).split(lineEnd)
    if (2 * sent.length !== rawHeaders.length) return undefined
    // not parts of `text`, which would keep all of it
    const lines: [name: string, value: string][] = []
    const names = new Set<string>()
    for (const [index, line] of sent.entries()) {
      const [name = '', value = ''] = rawHeaders.slice(2 * index, 2 * index + 2)
      // the parser must have read the same
      if (!headerLine.test(line) || line !== `${name}: ${value}`) return undefined
      const key = name.toLowerCase()
      if (names.has(key) || !isPlain(key, value)) return undefined
      names.add(key)
      lines.push([name, value])
    }
    return new KnownHead(lines)
  }

  /** The head at the beginning of a chunk if it has these header lines. `text` is the beginning of the chunk. */
  read(chunk: NonSharedBuffer, text: string): ReadHead | undefined {
    const begin = text.indexOf('\r')
    if (begin < 0) return undefined
    let at = begin
    const values: string[] = []
    for (const [index, piece] of this.#pieces.entries()) {
      if (!text.startsWith(piece, at)) return undefined
      at += piece.length
      if (index === this.#varying.length) break
      const end = text.indexOf('\r', at)
      if (end < 0) return undefined
      // no part of the whole text: whoever keeps one value must not keep a secret beside it
      const value = chunk.toString('latin1', at, end)
      if (!plainValue.test(value)) return undefined
      values.push(value)
      at = end
    }
    const [, method, url] = requestLine.exec(chunk.toString('latin1', 0, begin)) ?? []
    if (method === undefined || url === undefined) return undefined
    return this.#with(values, { method, url, bytes: at })
  }

  #with(values: readonly string[], line: Pick<ReadHead, 'method' | 'url' | 'bytes'>): ReadHead | undefined {
    const headers = { ...this.#headers }
    for (const [index, { name }] of this.#varying.entries()) headers[name] = values[index]
    const length = headers['content-length']
    if (length !== undefined && !plainLength.test(length)) return undefined
    return {
      ...line,
      headers,
      bodyBytes: length === undefined ? undefined : Number(length),
      rawHeaders: () => {
        const raw = [...this.#rawHeaders]
        for (const [index, { rawAt }] of this.#varying.entries()) raw[rawAt] = values[index] ?? ''
        return raw
      },
    }
  }
}

function isPlain(name: string, value: string): boolean {
  if (name === 'connection') return value.toLowerCase() === 'keep-alive'
  if (name === 'content-length') return plainLength.test(value)
  return !parsedHeaders.has(name)
}
