import type { Socket } from 'node:net'
import { systemRandom } from '../lib/random.ts'
import { requestIdHeader } from './common-headers.ts'

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
const emptyErrors = '{"errors":[]}\n'

/** docs/contract/http.md#headers */
const headerLines = [
  'Content-Type: application/json',
  'Cache-Control: no-store',
  'Strict-Transport-Security: max-age=31536000; includeSubDomains',
  `Content-Length: ${emptyErrors.length}`,
  'Connection: close',
].join('\r\n')

/**
 * How long a refused client may keep sending before its connection is closed: a reset could discard the
 * response.
 */
const lingerMs = 1000

/** The complete response, head and body, to a request that no handler sees. */
function rawAnswer(status: RawStatus): string {
  return `HTTP/1.1 ${status} ${reasonOf[status]}\r\n${headerLines}\r\n${requestIdHeader}: ${systemRandom.uuid()}\r\n\r\n${emptyErrors}`
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
 * to read. The caller ensures that no other response is due before.
 */
export function answerAndClose(socket: Socket, status: RawStatus): void {
  if (!socket.writable) return
  const cutOff = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(cutOff))
  socket.end(rawAnswer(status))
}
