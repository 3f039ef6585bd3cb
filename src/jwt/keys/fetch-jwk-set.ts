import type { OutboundClient } from '../../core/outbound/outbound.ts'
import { excerpt } from '../../lib/text/go-text.ts'
import { JwkSet } from './jwk-set.ts'
import { answerKind, bodyStart, requestProblem, SourceError } from './source-error.ts'
import { dateOf, type ResponseDate } from './source-history.ts'

/**
 * A URL to fetch, the PEM roots to trust for the connection ("" for the system's), and the names that the
 * certificate may have instead of the URL's host, if any are given.
 */
export type KeySource = {
  readonly url: string
  readonly caPem: string
  readonly serverNames?: readonly string[]
}

/** Why keys could not be fetched; the message follows `fetching keys oidc: `. */
export class KeyFetchError extends SourceError {
  override readonly name = 'KeyFetchError'
}

/** Fetches one JWK set. Throws `KeyFetchError`. */
export async function fetchJwkSet(
  outbound: OutboundClient,
  { url, caPem, serverNames }: KeySource,
  note?: ResponseDate,
): Promise<JwkSet> {
  if (url === '') throw new KeyFetchError('get keys failed: the discovery document names no jwks_uri')
  const answer = await outbound.get(url, { caPem, serverNames, service: 'keys' }).catch((cause: unknown) => {
    const problem = requestProblem(cause)
    throw new KeyFetchError(`get keys failed ${problem}`, { cause, withoutBody: problem })
  })
  if (note !== undefined) note.date = dateOf(answer.headers)
  if (answer.status !== 200) {
    const message = `get keys failed: ${answer.status} ${answer.statusText} ${bodyStart(answer)}`
    throw new KeyFetchError(message, { url, withoutBody: answerKind(answer) })
  }
  try {
    return new JwkSet(answer.body)
  } catch (cause) {
    const problem = cause instanceof Error ? excerpt(cause.message) : ''
    // the messages of a JSON parser repeat the text
    const shape = cause instanceof SyntaxError ? 'not JSON' : problem
    throw new KeyFetchError(`failed to decode keys: ${problem} ${bodyStart(answer)}`, {
      cause,
      url,
      withoutBody: `${answerKind(answer)}: ${shape}`,
    })
  }
}
