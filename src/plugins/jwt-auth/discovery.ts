import { type OutboundClient, OutboundError } from '../../core/outbound.ts'
import { excerpt, quoted } from '../../lib/go-text.ts'
import { shownUrl } from './shown-url.ts'
import type { AnswerNote } from './source-history.ts'

/** What is used of an OpenID provider's metadata; "" where the document is silent. */
export type DiscoveryDocument = {
  readonly authorization_endpoint: string
  readonly token_endpoint: string
  readonly jwks_uri: string
  readonly userinfo_endpoint: string
}

/** Why discovery failed; for the log, and for texts where the contract shows the cause. */
export class DiscoveryError extends Error {
  override readonly name = 'DiscoveryError'
}

/** Fetches a provider's metadata. Throws `DiscoveryError`. Contract jwt-oidc §2.3. */
export async function discover(
  outbound: OutboundClient,
  { url, caPem }: { url: string; caPem: string },
  note?: AnswerNote,
): Promise<DiscoveryDocument> {
  const answer = await outbound.get(`${url.replace(/\/$/, '')}/.well-known/openid-configuration`, { caPem }).catch((error: unknown) => {
    throw new DiscoveryError(error instanceof OutboundError ? error.message : 'discovery failed', { cause: error })
  })
  if (note !== undefined) note.date = answer.headers.date
  if (answer.status !== 200) {
    throw new DiscoveryError(`${answer.status} ${answer.statusText}: ${excerpt(answer.body.toString('utf8', 0, 1024))}`)
  }
  const document = parseDocument(answer.body)
  if (document.issuer !== url) {
    const issuer = typeof document.issuer === 'string' ? document.issuer : ''
    throw new DiscoveryError(`oidc: issuer did not match the issuer returned by provider, expected ${quoted(shownUrl(url))} got ${quoted(issuer)}`)
  }
  const text = (name: string): string => (typeof document[name] === 'string' ? document[name] : '')
  return {
    authorization_endpoint: text('authorization_endpoint'),
    token_endpoint: text('token_endpoint'),
    jwks_uri: text('jwks_uri'),
    userinfo_endpoint: text('userinfo_endpoint'),
  }
}

function parseDocument(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    const document: unknown = JSON.parse(body.toString('utf8'))
    // an object of unknown members; a list has none of the names read
    if (typeof document === 'object' && document !== null) return document as Record<string, unknown>
  } catch (error) {
    throw new DiscoveryError('oidc: failed to decode provider discovery object: not JSON', { cause: error })
  }
  throw new DiscoveryError('oidc: failed to decode provider discovery object: not an object')
}
