import type { Socket } from 'node:net'
import { systemRandom } from '../../lib/system/random.ts'
import { type CommonHeaders, requestIdHeader } from '../exchange/common-headers.ts'

/** Statuses of requests that are refused before a handler sees them. */
export type RawStatus = 400 | 405 | 408 | 413 | 414 | 417 | 431

const reasonOf: Record<RawStatus, string> = {
  400: 'Bad Request',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  413: 'Payload Too Large',
  414: 'URI Too Long',
  417: 'Expectation Failed',
  431: 'Request Header Fields Too Large',
}

/** The body of an error without a text. docs/contract/http.md#errors, `E[]`. */
export const emptyErrors = '{"errors":[]}\n'

/** The headers of such a response. docs/contract/http.md#headers */
export const refusalHeaders = (status: RawStatus, common: CommonHeaders): Record<string, string> => ({
  'content-type': 'application/json',
  ...common.of(status),
  'content-length': String(emptyErrors.length),
  [requestIdHeader]: systemRandom.uuid(),
})

/**
 * How long a refused client may keep sending before its connection is closed: a reset could discard the
 * response.
 */
const lingerMs = 1000

/** The complete response, head and body, to a request that no handler sees. */
function rawAnswer(status: RawStatus, common: CommonHeaders, text: string | undefined): string {
  const body = text === undefined ? emptyErrors : `${text}\n`
  const headers = {
    ...refusalHeaders(status, common),
    ...(text !== undefined && { 'content-type': 'text/plain; charset=utf-8' }),
    'content-length': String(body.length),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${reasonOf[status]}\r\n${lines.join('')}\r\n${body}`
}

/** The status for an error that Node's parser or a timeout reports about a connection. */
export function statusOfParserError(code: string | undefined): RawStatus {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return 431
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return 413
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 408
    default:
      return 400
  }
}

/**
 * Responds on the bare socket, unless it is already closing, and closes it after giving the client a moment
 * to read. The caller ensures that no other response is due before. `text`, in ASCII, replaces the empty error.
 */
export function answerAndClose(
  socket: Socket,
  status: RawStatus,
  common: CommonHeaders,
  text?: string,
): void {
  writeAndClose(socket, rawAnswer(status, common, text))
}

const inadequateSecurity = 0xc

/** The same to a client of HTTP/2: empty SETTINGS, and a GOAWAY of stream 0 with the text (RFC 9113 §6.8). */
export function goAwayAndClose(socket: Socket, text: string): void {
  const goAway = Buffer.alloc(17)
  goAway.writeUInt16BE(8 + text.length, 1)
  goAway.writeUInt8(7, 3)
  goAway.writeUInt32BE(inadequateSecurity, 13)
  const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])
  writeAndClose(socket, Buffer.concat([settings, goAway, Buffer.from(text)]))
}

function writeAndClose(socket: Socket, bytes: string | Buffer): void {
  if (!socket.writable) return
  const cutOff = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(cutOff))
  socket.end(bytes)
}
