import { type OutboundClient, OutboundError } from '../../core/outbound.ts'
import { excerpt } from '../../lib/go-text.ts'
import { JwkSet } from './jwk-set.ts'
import type { AnswerNote } from './source-history.ts'

/** Where something is fetched from, and the PEM roots that vouch for the connection ("" for the system's). */
export type KeySource = { readonly url: string; readonly caPem: string }

/** Why keys could not be had; the text follows `fetching keys oidc: `. */
export class KeyFetchError extends Error {
  override readonly name = 'KeyFetchError'
}

/** Fetches one JWK set. Throws `KeyFetchError`. */
export async function fetchJwkSet(outbound: OutboundClient, { url, caPem }: KeySource, note?: AnswerNote): Promise<JwkSet> {
  const answer = await outbound.get(url, { caPem }).catch((error: unknown) => {
    throw new KeyFetchError(`get keys failed ${error instanceof OutboundError ? error.message : 'for an unknown cause'}`, { cause: error })
  })
  if (note !== undefined) note.date = answer.headers.date
  const body = () => excerpt(answer.body.toString('utf8', 0, 1024))
  if (answer.status !== 200) throw new KeyFetchError(`get keys failed: ${answer.status} ${answer.statusText} ${body()}`)
  try {
    return new JwkSet(answer.body)
  } catch (error) {
    throw new KeyFetchError(`failed to decode keys: ${error instanceof Error ? excerpt(error.message) : ''} ${body()}`, { cause: error })
  }
}
