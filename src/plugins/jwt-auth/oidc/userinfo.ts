import { type OutboundClient, OutboundError } from '../../../core/outbound/outbound.ts'
import { isSupportedAlgorithm } from '../../../jwt/jws/algorithms.ts'
import { type JwsLimits, parseJws } from '../../../jwt/jws/jws.ts'
import { parseStrictObject, type StrictObject } from '../../../jwt/jws/strict-json.ts'
import type { ReadyProvider } from '../../../jwt/keys/discovered-provider.ts'
import { type Config, flowAlgorithms, providerTrust } from '../config/jwt-config.ts'
import type { Exchanged } from './exchange.ts'

export type UserInfoParts = {
  readonly outbound: OutboundClient
  readonly config: Config
  readonly provider: ReadyProvider
  readonly limits: JwsLimits
  readonly signal: AbortSignal | undefined
  /** The address of the client whose login this is. */
  readonly client: string
}

/** The claims; or why nothing is merged, for the log. */
export type UserInfo = { readonly claims: StrictObject } | { readonly unusable: string }

/**
 * What the provider says about the person beyond the ID token; it must have the same `sub`.
 * docs/contract/oidc.md#the-callback-in-this-order
 */
export async function fetchUserInfo(
  token: Exchanged,
  subject: unknown,
  parts: UserInfoParts,
): Promise<UserInfo> {
  const info = await ask(token, parts)
  if ('unusable' in info) return info
  const { sub, iss, email_verified: verified } = info.claims
  if (sub !== subject) return { unusable: 'sub is not that of the ID token' }
  if ((iss ?? parts.config.oidc_discovery_url) !== parts.config.oidc_discovery_url)
    return { unusable: 'iss is another provider' }
  if (!verifiedValues.has(verified ?? true)) return { unusable: 'email_verified is no bool' }
  return info
}

const verifiedValues: ReadonlySet<unknown> = new Set([true, false, 'true', 'false'])

async function ask(
  { accessToken, tokenType }: Exchanged,
  { outbound, signal, ...parts }: UserInfoParts,
): Promise<UserInfo> {
  const headers = { authorization: `${tokenType} ${accessToken}` }
  const { config, provider } = parts
  const { userinfo_endpoint: url } = provider.document
  try {
    const answer = await outbound.get(url, { ...providerTrust(config), headers, signal })
    if (answer.status !== 200) return { unusable: `answered ${answer.status}` }
    const text = answer.body.toString('utf8')
    const isJwt = answer.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() === 'application/jwt'
    return isJwt ? await readSigned(text, parts) : userInfo(parseStrictObject(text))
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    return { unusable: error.message }
  }
}

const userInfo = (claims: StrictObject | null | undefined): UserInfo =>
  claims ? { claims } : { unusable: 'not a JSON object' }

async function readSigned(
  text: string,
  { config, provider, limits, client }: Omit<UserInfoParts, 'outbound' | 'signal'>,
): Promise<UserInfo> {
  const jws = parseJws(text, limits)
  if ('malformed' in jws) return { unusable: jws.malformed }
  const { algorithm } = jws
  if (!isSupportedAlgorithm(algorithm) || !flowAlgorithms(config).includes(algorithm))
    return { unusable: 'signed with another algorithm' }
  const verified = await provider.keys.verifySignature({ ...jws, algorithm }, client)
  return 'reason' in verified ? { unusable: verified.cause ?? verified.text } : userInfo(verified.claims)
}
