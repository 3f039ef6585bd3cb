import { OutboundError, type OutboundResponse } from '../../core/outbound.ts'
import { excerpt } from '../../lib/go/text.ts'

/** Why a document could not be fetched. The message may repeat the beginning of the response. */
export class SourceError extends Error {
  override readonly name: string = 'SourceError'
  /**
   * The same without the response's body, for callers who write configurations: a configured URL must not
   * become a way to read what it points to.
   */
  readonly withoutBody: string

  constructor(
    message: string,
    { withoutBody = message, ...options }: ErrorOptions & { withoutBody?: string } = {},
  ) {
    super(message, options)
    this.withoutBody = withoutBody
  }
}

/** Why a request got no response. */
export const requestProblem = (error: unknown): string =>
  error instanceof OutboundError ? error.message : 'for an unknown cause'

/** The kind of response, according to its head. */
export function answerKind({ status, statusText, headers }: OutboundResponse): string {
  const type = headers['content-type']
  return `${status} ${printable(statusText)}, ${type === undefined ? 'no content type' : `content type ${printable(type)}`}`
}

/** The text may reach a terminal. */
const printable = (text: string): string => excerpt(text.replaceAll(/\p{Cc}/gu, ''), 64)

/** The beginning of a response's body. */
export const bodyStart = ({ body }: OutboundResponse): string => excerpt(body.toString('utf8', 0, 1024))
