import { OutboundError, type OutboundResponse } from '../../core/outbound.ts'
import { excerpt } from '../../lib/go/text.ts'

/** Why a document could not be had. The message may repeat the beginning of an answer. */
export class SourceError extends Error {
  override readonly name: string = 'SourceError'
  /**
   * The same without the body of an answer, for whoever writes a configuration: a URL in it must not become a
   * way to read what is behind.
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

/** Why a request got no answer. */
export const requestProblem = (error: unknown): string =>
  error instanceof OutboundError ? error.message : 'for an unknown cause'

/** What sort of answer came, as far as its head says. */
export function answerKind({ status, statusText, headers }: OutboundResponse): string {
  const type = headers['content-type']
  return `${status} ${printable(statusText)}, ${type === undefined ? 'no content type' : `content type ${printable(type)}`}`
}

/** It may reach a terminal. */
const printable = (text: string): string => excerpt(text.replaceAll(/\p{Cc}/gu, ''), 64)

/** The beginning of an answer's body. */
export const bodyStart = ({ body }: OutboundResponse): string => excerpt(body.toString('utf8', 0, 1024))
