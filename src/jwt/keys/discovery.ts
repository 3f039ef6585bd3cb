import type { OutboundClient, OutboundResponse } from '../../core/outbound/outbound.ts'
import { quoted } from '../../lib/text/go-text.ts'
import { parseFinite } from '../../lib/text/json.ts'
import { redactUrl } from '../../logins/refusals/redact.ts'
import type { KeySource } from './fetch-jwk-set.ts'
import { answerKind, bodyStart, requestProblem, SourceError } from './source-error.ts'
import { dateOf, type ResponseDate } from './source-history.ts'

/** The metadata we use of an OpenID provider; "" if the document does not say. */
export type DiscoveryDocument = {
  readonly authorization_endpoint: string
  readonly token_endpoint: string
  readonly jwks_uri: string
  readonly userinfo_endpoint: string
  readonly device_authorization_endpoint: string
}

/** Why discovery failed, for the operator. */
export class DiscoveryError extends SourceError {
  override readonly name = 'DiscoveryError'
  /** What the document says, if it is that of another issuer. */
  issuer: string | undefined
}

/** Fetches a provider's metadata. Throws `DiscoveryError`. docs/contract/jwt.md#configuration */
export async function discover(
  outbound: OutboundClient,
  { url, caPem, serverNames }: KeySource,
  note?: ResponseDate,
): Promise<DiscoveryDocument> {
  const address = `${url.replace(/\/$/, '')}/.well-known/openid-configuration`
  const trust = { caPem, serverNames, service: 'discovery' } as const
  const answer = await outbound.get(address, trust).catch((cause: unknown) => {
    throw new DiscoveryError(requestProblem(cause), { cause })
  })
  if (note !== undefined) note.date = dateOf(answer.headers)
  if (answer.status !== 200) {
    throw new DiscoveryError(`${answer.status} ${answer.statusText}: ${bodyStart(answer)}`, {
      url: address,
      withoutBody: answerKind(answer),
    })
  }
  const document = parseDocument(answer, address)
  if (document.issuer !== url) {
    const error = new DiscoveryError(otherIssuer(url, document.issuer))
    error.issuer = typeof document.issuer === 'string' ? document.issuer : ''
    throw error
  }
  const text = (name: string): string => (typeof document[name] === 'string' ? document[name] : '')
  return {
    authorization_endpoint: text('authorization_endpoint'),
    token_endpoint: text('token_endpoint'),
    jwks_uri: text('jwks_uri'),
    userinfo_endpoint: text('userinfo_endpoint'),
    device_authorization_endpoint: text('device_authorization_endpoint'),
  }
}

/** OpenID Connect Discovery §4.3: the two must be identical. */
function otherIssuer(url: string, issuer: unknown): string {
  const expected = `issuer ${quoted(redactUrl(url))} expected`
  return typeof issuer === 'string'
    ? `${expected}, discovery says ${quoted(redactUrl(issuer))}`
    : `${expected}, discovery names none`
}

function parseDocument(answer: OutboundResponse, url: string): Readonly<Record<string, unknown>> {
  const failed = 'oidc: failed to decode provider discovery object: '
  try {
    const document: unknown = parseFinite(answer.body.toString('utf8'))
    // an object with unknown members; a list has none of the members we read
    if (typeof document === 'object' && document !== null) return document as Record<string, unknown>
  } catch (error) {
    throw new DiscoveryError(`${failed}not JSON (${answerKind(answer)})`, { url, cause: error })
  }
  throw new DiscoveryError(`${failed}not an object`, { url })
}
