import { named, OutboundError, type OutboundResponse } from '../../core/outbound/outbound.ts'
import { excerpt } from '../../lib/text/go-text.ts'

type SourceErrorOptions = {
  readonly withoutBody?: string
  /** If the problem does not name it. */
  readonly url?: string
}

/**
 * Why a document could not be fetched, and from where, for the operator. The message may repeat the beginning of
 * the response.
 */
export class SourceError extends Error {
  override readonly name: string = 'SourceError'
  /**
   * The same without the response's body and the address, for callers who write configurations: they know the
   * address, and it must not become a way to read what it points to.
   */
  readonly withoutBody: string

  constructor(
    problem: string,
    { withoutBody = problem, url = '', ...options }: ErrorOptions & SourceErrorOptions = {},
  ) {
    const address = URL.parse(url)
    super(address === null ? problem : `Get ${named(address)}: ${problem}`, options)
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
