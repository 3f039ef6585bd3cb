import type { OutboundClient } from '../../../core/outbound/outbound.ts'
import type { LoginAuth } from '../../../core/tokens/acts/issue-login.ts'
import { type JwsLimits, parseClaims, parseJws } from '../../../jwt/jws/jws.ts'
import { ownMember, type StrictObject } from '../../../jwt/jws/strict-json.ts'
import type { ReadyProvider } from '../../../jwt/keys/discovered-provider.ts'
import type { VerifiedToken } from '../../../jwt/keys/keyset.ts'
import { thumbprintOf } from '../../../jwt/keys/thumbprint.ts'
import type { LogLine } from '../../../lib/system/log-fields.ts'
import { quoted } from '../../../lib/text/go-text.ts'
import { redactUrl } from '../../../logins/refusals/redact.ts'
import {
  type Compared,
  comparing,
  discreetRefusal,
  type Refusal,
  refusal,
  reworded,
} from '../../../logins/refusals/refusal.ts'
import { isRefusal, thrown } from '../checks/trace.ts'
import type { MountState, ReadyConfig } from '../config/mount-state.ts'
import type { Role } from '../config/role.ts'
import { grant, type LoginIdentity, loginByClaims, type NamedLogin } from '../login/claims-login.ts'
import type { Attempt } from '../login/flow-trace.ts'
import { GatedClient } from '../login/gated-client.ts'
import { noChecks, RecordingTrace, unaskedChecks } from '../login/recording-trace.ts'
import { reachedProvider } from './authorize.ts'
import type { Exchanged, exchangeCode } from './exchange.ts'
import { verifyIdToken } from './id-token.ts'
import { loginFailed } from './pages.ts'
import { isTooOldForExchange, type PendingLogin, type ProviderError } from './pending-login.ts'
import type { PendingLogins } from './pending-logins.ts'
import { fetchUserInfo } from './userinfo.ts'

/** What the provider answered, by a browser. */
export type ProviderAnswer = {
  readonly state: string
  /** `no_code` is the one that was posted. */
  readonly code: string
  readonly iss: string
}

/** A request of a browser login in progress. */
export type FlowContext = {
  readonly state: MountState
  readonly pending: PendingLogins
  readonly outbound: OutboundClient
  readonly limits: JwsLimits
  readonly remoteAddress: string
  readonly signal: AbortSignal | undefined
  /** Filled in as more becomes known. */
  readonly attempt: Attempt
  /** Milliseconds since the epoch. */
  now(): number
  readonly log: FlowLog
}

/** A request of a browser. */
export type BrowserContext = FlowContext & {
  /** What the provider sent instead of a code, if it refused. */
  readonly providerError: ProviderError | undefined
  /** Namespace and mount, as shown to a person. */
  readonly mountPath: string
  readonly requestId: string
}

export type FlowLog = { readonly warn: LogLine; readonly debug: LogLine }

/** This code stands for the one that was posted. docs/contract/oidc.md#the-callback-in-this-order */
export const codeOfForm = 'no_code'

/** A login whose state came back. */
type BegunLogin = { readonly login: PendingLogin; readonly role: Role; readonly ready: ReadyConfig }

/** A login that is decided with this provider. */
export type LoginContext = FlowContext & BegunLogin & { readonly provider: ReadyProvider }

/** Notes what is known of a login by its state. */
export function noteLogin(attempt: Attempt, login: PendingLogin): void {
  attempt.role = login.role
  attempt.flow.roleName = login.role
  attempt.flow.login = login
}

/** Who signed in, and the provider's tokens that the token's metadata keeps, by their names there. */
export type SignedIn = LoginIdentity & { readonly oauth2: Readonly<Record<string, string>> }

/** What the role grants to whoever signed in. */
export const grantSignedIn = (
  role: Role,
  { oauth2, ...identity }: SignedIn,
  { scope }: Pick<PendingLogin, 'scope'>,
): LoginAuth => ({ ...grant(role, identity), scope, metadata: { ...identity.metadata, ...oauth2 } })

/**
 * Determines who signed in at the provider, and whether the role accepts it. `providerError` is what it sent instead
 * of a code. Throws the first refusal.
 */
export async function signIn(
  answer: ProviderAnswer & { readonly providerError: ProviderError | undefined },
  begun: BegunLogin,
  context: FlowContext,
): Promise<SignedIn> {
  const { flow } = context.attempt
  const provider = await providerOf(begun.ready, context.attempt)
  const answering = checkAnswering([answer.iss, begun.login.issuer], begun.ready.config.oidc_discovery_url)
  if (answering !== undefined) throw flow.refused(answering)
  const login: LoginContext = { ...context, ...begun, provider }
  const returned = await vouchedClaims(answer, login)
  if (isRefusal(returned)) throw flow.refused(returned)
  return acceptReturned(returned, login)
}

/** Throws if it was never reached. */
export async function providerOf(ready: ReadyConfig, { flow }: Attempt): Promise<ReadyProvider> {
  const provider = await reachedProvider(ready)
  if (isRefusal(provider))
    throw flow.refused(reworded(provider, (text) => `error getting provider for login operation: ${text}`))
  flow.passed('provider', { expected: [], seen: redactUrl(ready.config.oidc_discovery_url) })
  return provider
}

/** Whom the provider vouches for, if the role accepts it. Throws the first refusal. */
export async function acceptReturned(returned: Returned, context: LoginContext): Promise<SignedIn> {
  const { role, attempt, log } = context
  const { flow } = attempt
  flow.claims = returned.claims
  flow.check('subject', checkSubject(returned.claims, role))
  const merged = await withUserInfo(returned, context)
  flow.claims = merged
  if (role.record.verbose_oidc_logging === true) logVerbosely(returned.idToken, merged, log)
  const accessToken = returned.exchanged?.accessToken
  const { alias, groupNames, policies } = await grantedLogin(merged, { ...context, accessToken })
  const oauth2 = Object.fromEntries(keptTokens(returned, role))
  const named = role.policyTemplates === undefined ? {} : { policies }
  return { ...alias, groups: groupNames, ...named, oauth2 }
}

/** The provider's tokens that the role keeps. docs/contract/oidc.md#callback-modes */
function keptTokens({ exchanged, idToken }: Returned, { record }: Role): [string, string][] {
  const tokens = new Map([
    ['access_token', exchanged?.accessToken ?? ''],
    ['id_token', idToken],
    ['refresh_token', exchanged?.refreshToken ?? ''],
  ])
  return (record.oauth2_metadata ?? []).flatMap((name) => {
    const token = tokens.get(name) ?? ''
    return token === '' ? [] : [[`oauth2_${name}`, token]]
  })
}

/**
 * Decides the login from the claims. All checks are recorded, so that one refusal does not hide another;
 * after the first refusal no other server is asked.
 */
async function grantedLogin(
  claims: StrictObject,
  context: LoginContext & { accessToken: string | undefined },
): Promise<NamedLogin> {
  const { role, ready, outbound, attempt } = context
  const trace = new RecordingTrace({ verifies: false, instead: () => undefined })
  const way = new GatedClient(outbound, () => !trace.hasRefused)
  const auth = await loginByClaims(claims, role, { ...context, config: ready.config, trace, outbound: way })
  const unasked = way.wasRefused ? unaskedChecks(trace.recorded, role) : noChecks
  const made = trace.recorded.filter((one) => !unasked.has(one))
  attempt.flow.recorded.push(...made)
  const first = made.find(({ refused }) => refused !== undefined)?.refused
  if (first !== undefined) throw thrown(first)
  if (auth === undefined) throw new Error('a login was refused without being ended')
  return auth
}

/**
 * A code of another provider must not be sent to this one, however it got here. A provider that does not
 * identify itself is trusted. RFC 9207 §2.4.
 */
function checkAnswering(issuers: readonly string[], expected: string): Refusal | undefined {
  const other = issuers.find((issuer) => issuer !== '' && issuer !== expected)
  if (other === undefined) return undefined
  const text = `${loginFailed} Authorization response of a different provider, expected ${quoted(redactUrl(expected))} got ${quoted(other)}.`
  return comparing(refusal('issuer_mismatch', text), {
    expected: [redactUrl(expected)],
    seen: other,
    detail: 'iss of the callback',
  })
}

/**
 * The verified response of the provider. `exchanged` is undefined if it sent an ID token instead of a code.
 */
export type Returned = {
  readonly claims: StrictObject
  readonly idToken: string
  readonly exchanged: Exchanged | undefined
}

/** Verifies a stored ID token, or exchanges the code. */
async function vouchedClaims(
  answer: ProviderAnswer & { readonly providerError: ProviderError | undefined },
  context: LoginContext,
): Promise<Returned | Refusal> {
  const { login } = context
  const code = answer.code === codeOfForm ? login.code : answer.code
  if (code !== '') {
    const returned = await claimsByCode(code, answer.state, context)
    return isRefusal(returned)
      ? reworded(
          returned,
          (text) => `${loginFailed} Error exchanging oidc code: ${quoted(text, longestError)}.`,
        )
      : returned
  }
  if (login.id_token === '') return nothingReceived(answer, login)
  context.attempt.flow.passed('code', { expected: ['id_token'], seen: 'id_token' })
  const verified = await attemptedToken(login.id_token, context)
  if ('reason' in verified) return reworded(verified, (text) => `Token verification failed. ${text}`)
  return { claims: withoutNonce(verified.claims), idToken: login.id_token, exchanged: undefined }
}

/** The codes with which a provider refuses. RFC 6749 §4.1.2.1; OpenID Connect Core §3.1.2.6. */
const registeredErrors: ReadonlySet<string> = new Set([
  'invalid_request',
  'unauthorized_client',
  'access_denied',
  'unsupported_response_type',
  'invalid_scope',
  'server_error',
  'temporarily_unavailable',
  'interaction_required',
  'login_required',
  'account_selection_required',
  'consent_required',
])

/**
 * Of the provider's error only a registered code gets into the response: anyone can write a text into a URL.
 */
function nothingReceived(
  { providerError, state, iss }: ProviderAnswer & { readonly providerError: ProviderError | undefined },
  login: PendingLogin,
): Refusal {
  const error = providerError ?? (login.refused ? login.provider_error : undefined)
  const code = error?.error ?? ''
  const other =
    error !== undefined && login.mode === 'direct' ? unknownError : 'No code or id_token received.'
  const text = `${loginFailed} ${registeredErrors.has(code) ? code : other}`
  if (error === undefined) {
    const seen = [...(state === '' ? [] : ['state']), ...(iss === '' ? [] : ['iss'])]
    return comparing(refusal('code_missing', text), { expected: ['code'], seen, hint: '' })
  }
  const seen = [error.error, error.error_description].filter((part) => part !== '')
  return comparing(refusal('provider_refused', text), { expected: ['code'], seen, isLong: true, hint: '' })
}

/** Said to the person, who reads it in the browser. */
const unknownError = 'An unknown error occurred during OIDC authentication. Check server logs for details'

/** Texts of the provider are already truncated. */
const longestError = 4096

/** The refusal's text lacks its prefix. docs/contract/oidc.md#the-callback-in-this-order */
async function claimsByCode(code: string, state: string, context: LoginContext): Promise<Returned | Refusal> {
  const { login, ready, provider, outbound, signal, now } = context
  const exchanging = (refused: Refusal) => reworded(refused, (text) => `Provider.Exchange: ${text}`)
  const failed = (text: string, compared: Compared) =>
    comparing(exchanging(refusal('exchange_failed', text)), { ...compared, hint: '' })
  const { flow } = context.attempt
  flow.passed('code', { expected: ['code'], seen: 'code' })
  if (login.code_verifier === '') {
    const text = `request (${state}) should not be using the implicit flow: invalid OIDC flow`
    return failed(text, { expected: ['id_token'], seen: 'code', detail: 'oidc_response_types' })
  }
  if (isTooOldForExchange(login, now())) {
    const seen = `${Math.round((now() - login.created) / 1000)} s`
    const ages = { expected: ['a code within 10 minutes'], seen, detail: 'age of the login' }
    return failed('authentication request is expired: invalid parameter', ages)
  }
  const parts = { outbound, config: ready.config, document: provider.document, signal }
  const exchanged = await exchangeOrWhy(code, login, parts)
  if ('reason' in exchanged)
    return exchanging(reworded(exchanged, (text) => `unable to exchange auth code with provider: ${text}`))
  const returned = await claimsOfTokens(exchanged, context, code)
  return isRefusal(returned) ? exchanging(returned) : returned
}

/**
 * The verified claims of what a token endpoint gave. `code` is what it was given for, if that may have a hash in
 * the ID token.
 */
export async function claimsOfTokens(
  exchanged: Exchanged,
  context: LoginContext,
  code = '',
): Promise<Returned | Refusal> {
  const { flow } = context.attempt
  const failed = (text: string, compared: Compared) =>
    comparing(refusal('exchange_failed', text), { ...compared, hint: '' })
  const { idToken, accessToken, members } = exchanged
  const tokenAnswer = { expected: ['id_token'], seen: members, detail: 'members of the token answer' }
  if (idToken === undefined)
    return failed('id_token is missing from auth code exchange: id_token is missing', tokenAnswer)
  if (idToken === '')
    return failed(
      'unable to create new id_token: NewToken: id_token is empty: invalid parameter',
      tokenAnswer,
    )
  flow.passed('exchange', { expected: ['id_token'], seen: members })
  const verified = await attemptedToken(idToken, context)
  if ('reason' in verified) return reworded(verified, (text) => `id_token failed verification: ${text}`)
  const { claims, algorithm } = verified
  const { hashMatches } = await import('./exchange.ts')
  const wrongHash = (start: string, what: string, detail: string, seen: unknown) =>
    failed(
      `${start} failed verification: VerifyAccessToken: verifyHashClaim: ${what} hash does not match value in id_token`,
      { expected: ['the hash of what came with it'], seen, detail },
    )
  const accessHash = ownMember(claims, 'at_hash')
  if (!hashMatches(accessHash, accessToken, algorithm))
    return wrongHash('access_token', 'access_token', 'at_hash', accessHash)
  const codeHash = ownMember(claims, 'c_hash')
  if (code !== '' && codeHash !== '' && !hashMatches(codeHash, code, algorithm))
    return wrongHash('code hash', 'authorization code', 'c_hash', codeHash)
  return { claims: withoutNonce(claims), idToken, exchanged }
}

async function exchangeOrWhy(...given: Parameters<typeof exchangeCode>): Promise<Exchanged | Refusal> {
  const { ExchangeError, exchangeCode } = await import('./exchange.ts')
  try {
    return await exchangeCode(...given)
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error
    const [, { redirect_uri }, { config, document }] = given
    const sent = [`client_id ${config.oidc_client_id}`, `redirect_uri ${redirect_uri}`]
    const compared = {
      expected: sent,
      seen: error.attempts,
      detail: redactUrl(document.token_endpoint),
      isLong: true,
      hint: '',
    } as const
    return comparing(discreetRefusal('exchange_failed', { text: error.told, cause: error.message }), compared)
  }
}

async function attemptedToken(idToken: string, context: LoginContext): Promise<VerifiedToken | Refusal> {
  const { attempt, ready, login, provider, limits, now } = context
  attempt.token = idToken
  const { flow } = attempt
  const jws = parseJws(idToken, limits)
  // the token may be refused, and the operator is told what it says
  flow.claims = 'malformed' in jws ? undefined : parseClaims(jws.payload)
  const signer = { keys: provider.keys, client: context.remoteAddress }
  const rules = { config: ready.config, login, nowMs: now() }
  const verified = await verifyIdToken(idToken, signer, rules, limits, (name) => flow.passed(name))
  attempt.isVerified = !isRefusal(verified)
  attempt.signer = isRefusal(verified) ? undefined : thumbprintOf(verified.signer)
  return verified
}

/** It only ties the token to this login; it is not a claim about anyone. */
export const withoutNonce = (claims: StrictObject): StrictObject =>
  Object.fromEntries(Object.entries(claims).filter(([name]) => name !== 'nonce'))

export function checkSubject(claims: StrictObject, { record }: Role): Refusal | undefined {
  const bound = record.bound_subject ?? ''
  return bound === '' || ownMember(claims, 'sub') === bound
    ? undefined
    : refusal('subject_mismatch', 'sub claim does not match bound subject')
}

/** Merges userinfo. A failure never refuses the login. docs/contract/oidc.md#the-callback-in-this-order */
async function withUserInfo({ claims, exchanged }: Returned, context: LoginContext): Promise<StrictObject> {
  const { provider, ready, outbound, limits, signal, log } = context
  const { flow } = context.attempt
  if (exchanged === undefined || provider.document.userinfo_endpoint === '') return claims
  const info = await fetchUserInfo(exchanged, ownMember(claims, 'sub'), {
    outbound,
    config: ready.config,
    provider,
    limits,
    signal,
    client: context.remoteAddress,
  })
  if ('claims' in info) {
    flow.passed('userinfo', { expected: [], seen: Object.keys(info.claims) })
    return Object.fromEntries([...Object.entries(claims), ...Object.entries(info.claims)])
  }
  flow.unusable('userinfo', info.unusable)
  log.warn(
    { event: 'userinfo_unusable', cause: info.unusable },
    'could not use the userinfo response; the login continues without it',
  )
  return claims
}

/**
 * For roles with `verbose_oidc_logging`. Without the signature, so that a reader of the log cannot use the
 * token. docs/contract/jwt.md#roles
 */
function logVerbosely(idToken: string, claims: StrictObject, log: FlowLog): void {
  log.debug(
    { event: 'oidc_token', id_token: `${idToken.slice(0, idToken.lastIndexOf('.') + 1)}xxxxxxxxxxx` },
    'OIDC provider response',
  )
  log.debug({ event: 'oidc_claims', claims: JSON.stringify(claims, plainly) }, 'OIDC claims')
}

const plainly = (_name: string, value: unknown): unknown =>
  typeof value === 'bigint' ? value.toString() : value
