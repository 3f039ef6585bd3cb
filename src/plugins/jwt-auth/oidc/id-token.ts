import { type Algorithm, isSupportedAlgorithm } from '../../../jwt/jws/algorithms.ts'
import { type JwsLimits, malformedPayload, parseClaims, parseJws } from '../../../jwt/jws/jws.ts'
import { ownMember, type StrictObject } from '../../../jwt/jws/strict-json.ts'
import { malformedToken } from '../../../jwt/jws/token-shape.ts'
import { type JwksKeyset, unexpectedAlgorithm, type VerifiedToken } from '../../../jwt/keys/keyset.ts'
import { excerpt, goText, quoted } from '../../../lib/text/go-text.ts'
import { redactUrl } from '../../../logins/refusals/redact.ts'
import { type CheckName, type Refusal, refusal, reworded } from '../../../logins/refusals/refusal.ts'
import { type Config, flowAlgorithms } from '../config/jwt-config.ts'
import type { PendingLogin } from './pending-login.ts'

/** What an ID token must satisfy. */
export type IdTokenRules = {
  readonly config: Config
  /** As fixed when the login began; a later write of the role does not change it. */
  readonly login: Pick<PendingLogin, 'nonce' | 'bound_audiences' | 'max_age' | 'created'>
  readonly nowMs: number
}

const minute = 60
/** Times beyond this (RFC 7519) cannot be represented as a date. */
const latestTime = 253_402_300_799

/** The keys of the provider, and the address of the client whose login this is. */
export type IdTokenSigner = { readonly keys: JwksKeyset; readonly client: string }

/** Called for each check that passed. */
export type OnPass = (name: CheckName) => void

/**
 * Returns the claims of an ID token, or the first refusal, in the order of
 * docs/contract/oidc.md#the-callback-in-this-order
 */
export async function verifyIdToken(
  token: string,
  signer: IdTokenSigner,
  rules: IdTokenRules,
  limits: JwsLimits,
  passed: OnPass = () => {},
): Promise<VerifiedToken | Refusal> {
  const verified = await verify(token, signer, rules, limits, passed)
  return 'reason' in verified ? reworded(verified, (text) => `Provider.VerifyIDToken: ${text}`) : verified
}

async function verify(
  token: string,
  signer: IdTokenSigner,
  rules: IdTokenRules,
  limits: JwsLimits,
  passed: OnPass,
): Promise<VerifiedToken | Refusal> {
  if (token === '') return refusal('token_malformed', 'id_token is empty: invalid parameter')
  const jws = parseJws(token, limits)
  if ('malformed' in jws)
    return reworded(
      malformedToken(jws.malformed, token),
      (text) => `invalid id_token: oidc: malformed jwt: ${text}`,
    )
  const claims = parseClaims(jws.payload)
  if (claims === undefined)
    return malformedPayload(
      jws.payload,
      'invalid id_token: oidc: malformed jwt: payload is not a JSON object',
    )
  const typed = readClaims(claims)
  if ('reason' in typed) return typed
  const ofSources = checkSources(claims)
  if (ofSources !== undefined) return ofSources
  passed('claims')
  const ofIssuer = checkIssuer(typed.iss, rules.config.oidc_discovery_url)
  if (ofIssuer !== undefined) return ofIssuer
  passed('issuer')
  const ofTimes = checkLifetime(typed, rules.nowMs)
  if (ofTimes !== undefined) return ofTimes
  passed('times')
  const algorithm = acceptedAlgorithm(jws.algorithm, flowAlgorithms(rules.config))
  if (typeof algorithm !== 'string') return algorithm
  passed('algorithm')
  const signed = await signer.keys.verifySignature({ ...jws, algorithm }, signer.client)
  if ('reason' in signed) {
    const kind = signed.reason === 'keys_unavailable' ? 'invalid jwks' : 'invalid signature'
    return reworded(signed, (text) => `invalid id_token: failed to verify signature: ${text}: ${kind}`)
  }
  passed('signature')
  return checkRequest(typed, rules, passed) ?? signed
}

/** The relevant claims, typed. Absent texts are empty, absent times 0. */
type IdTokenClaims = {
  readonly iss: string
  readonly sub: string
  readonly nonce: string
  readonly aud: readonly string[]
  readonly azp: unknown
  readonly exp: number
  readonly nbf: number
  readonly iat: number
  readonly auth_time: unknown
}

const wrongType = (name: string) =>
  refusal('claim_type_invalid', `invalid id_token: oidc: failed to unmarshal claims: ${name}`)

function readClaims(claims: StrictObject): IdTokenClaims | Refusal {
  const texts = { iss: '', sub: '', nonce: '' }
  for (const name of ['iss', 'sub', 'nonce'] as const) {
    const value = ownMember(claims, name) ?? ''
    if (typeof value !== 'string') return wrongType(name)
    texts[name] = value
  }
  const times = { exp: 0, nbf: 0, iat: 0 }
  for (const name of ['exp', 'nbf', 'iat'] as const) {
    const seconds = secondsOf(ownMember(claims, name) ?? 0)
    if (seconds === undefined) return wrongType(name)
    times[name] = seconds
  }
  const aud = ownMember(claims, 'aud') ?? []
  const audiences: unknown[] = Array.isArray(aud) ? aud : [aud]
  if (!audiences.every((audience) => typeof audience === 'string')) return wrongType('aud')
  return {
    ...texts,
    ...times,
    aud: audiences,
    azp: ownMember(claims, 'azp'),
    auth_time: ownMember(claims, 'auth_time'),
  }
}

/** Some providers quote times. */
function secondsOf(value: unknown): number | undefined {
  const isNumeric = typeof value === 'bigint' || (typeof value === 'string' && /^\d+$/.test(value))
  const seconds = isNumeric ? Number(value) : value
  return typeof seconds === 'number' && Number.isFinite(seconds) ? Math.trunc(seconds) : undefined
}

/** Claims that the token refers to must have a source. */
function checkSources(claims: StrictObject): Refusal | undefined {
  const names = ownMember(claims, '_claim_names') ?? {}
  const sources = ownMember(claims, '_claim_sources') ?? {}
  const wrong = (why: string) => refusal('claim_type_invalid', `invalid id_token: oidc: ${why}`)
  if (typeof names !== 'object' || names === null || typeof sources !== 'object' || sources === null)
    return wrong('source does not exist')
  for (const source of Object.values(names)) {
    if (typeof source !== 'string') return wrong('failed to obtain source from claim name')
    if (!Object.hasOwn(sources, source)) return wrong('source does not exist')
  }
  return undefined
}

const google = 'https://accounts.google.com'

/** The issuer. Google's is with or without the scheme. */
function checkIssuer(issuer: string, expected: string): Refusal | undefined {
  if (issuer === expected || (expected === google && `https://${issuer}` === google)) return undefined
  const text = `oidc: id token issued by a different provider, expected ${quoted(redactUrl(expected))} got ${quoted(issuer)}: invalid issuer`
  return refusal('issuer_mismatch', `invalid id_token: ${text}`)
}

/** Expiry and `nbf`. The role's leeways do not apply. */
function checkLifetime({ exp, nbf }: IdTokenClaims, nowMs: number): Refusal | undefined {
  if (exp * 1000 < nowMs)
    return refusal(
      'expired',
      `invalid id_token: oidc: token is expired (Token Expiry: ${timeText(exp)}): token is expired`,
    )
  if (nbf > nowMs / 1000 + 5 * minute) {
    const text = `oidc: current time ${timeText(nowMs / 1000)} before the nbf (not before) time: ${timeText(nbf)}: invalid not before`
    return refusal('not_yet_valid', `invalid id_token: ${text}`)
  }
  return undefined
}

function acceptedAlgorithm(algorithm: string, accepted: readonly string[]): Algorithm | Refusal {
  if (isSupportedAlgorithm(algorithm) && accepted.includes(algorithm)) return algorithm
  const reason = isSupportedAlgorithm(algorithm) ? 'algorithm_not_allowed' : 'algorithm_unsupported'
  return refusal(
    reason,
    `invalid id_token: oidc: malformed jwt: ${unexpectedAlgorithm(algorithm, accepted)}: unsupported signing algorithm`,
  )
}

/** Checks that the token belongs to this login. */
function checkRequest(
  claims: IdTokenClaims,
  { config, login, nowMs }: IdTokenRules,
  passed: OnPass,
): Refusal | undefined {
  if (claims.nonce !== login.nonce) return refusal('nonce_mismatch', 'invalid id_token nonce: invalid nonce')
  passed('nonce')
  if (claims.iat > nowMs / 1000 + minute) {
    const text = `current time ${timeText(nowMs / 1000)} before the iat (issued at) time ${timeText(claims.iat)}: invalid issued at (iat)`
    return refusal('issued_in_future', `invalid id_token ${text}`)
  }
  if (claims.sub === '') return refusal('claim_type_invalid', 'invalid id_token: sub: missing required claim')
  const ofAudience = checkAudiences(claims, config.oidc_client_id, login.bound_audiences)
  if (ofAudience !== undefined) return ofAudience
  passed('audience')
  return checkSignIn(claims.auth_time, login)
}

/** The audiences. An audience of the role never replaces the client. */
function checkAudiences(
  { aud, azp }: IdTokenClaims,
  clientId: string,
  bound: readonly string[],
): Refusal | undefined {
  if (aud.length === 0) return refusal('audience_mismatch', 'invalid id_token: aud: missing required claim')
  if (bound.length > 0 && !aud.some((audience) => bound.includes(audience))) {
    return refusal(
      'audience_mismatch',
      'invalid id_token audiences: verifyAudiences: invalid id_token audiences: invalid audience',
    )
  }
  const client = `client_id (${excerpt(clientId)})`
  const party = `authorized party (${goText(azp)})`
  const wrongParty = (text: string) =>
    refusal('authorized_party_mismatch', `invalid id_token: ${text}: invalid authorized party (azp)`)
  if (aud.length > 1 && !aud.includes(clientId)) {
    const text = `invalid id_token: multiple audiences (${goText(aud)}) and one of them is not equal ${client}: invalid audience`
    return refusal('audience_mismatch', text)
  }
  if (azp !== undefined && azp !== null && azp !== clientId)
    return wrongParty(`${party} is not equal ${client}`)
  if (aud.length > 1 && azp !== clientId)
    return wrongParty(`multiple audiences and ${party} is not equal ${client}`)
  if (aud.length === 1 && aud[0] !== clientId && azp !== clientId) {
    return wrongParty(
      `one audience (${excerpt(aud[0] ?? '')}) which is not the ${client} and ${party} is not equal ${client}`,
    )
  }
  return undefined
}

function checkSignIn(
  authTime: unknown,
  { max_age: maxAge, created }: IdTokenRules['login'],
): Refusal | undefined {
  if (maxAge === 0) return undefined
  const signedIn = secondsOf(authTime)
  if (signedIn === undefined)
    return refusal(
      'login_too_old',
      'missing auth_time claim when max age was requested: missing required claim',
    )
  const earliest = created / 1000 - maxAge
  if (signedIn + minute > earliest) return undefined
  return refusal(
    'login_too_old',
    `auth_time (${timeText(signedIn)}) is beyond max age (${maxAge} / ${timeText(earliest)}): expired auth_time`,
  )
}

const timeText = (seconds: number): string =>
  Math.abs(seconds) > latestTime
    ? String(seconds)
    : new Date(Math.trunc(seconds) * 1000).toISOString().replace('.000Z', 'Z')
