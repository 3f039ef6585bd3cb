import type { OutboundClient } from '../../../core/outbound/outbound.ts'
import type { LoginAuth } from '../../../core/tokens/acts/issue-login.ts'
import type { LogLine } from '../../../lib/system/log-fields.ts'
import { quoted } from '../../../lib/text/go-text.ts'
import { isRefusal, thrown } from '../checks/trace.ts'
import type { MountState, ReadyConfig } from '../config/mount-state.ts'
import type { Role } from '../config/role.ts'
import { expectedState } from '../explain/describe-flow.ts'
import { type JwsLimits, parseClaims, parseJws } from '../jws/jws.ts'
import { ownMember, type StrictObject } from '../jws/strict-json.ts'
import type { ReadyProvider } from '../keys/discovered-provider.ts'
import type { VerifiedToken } from '../keys/keyset.ts'
import { loginByClaims } from '../login/claims-login.ts'
import type { Attempt } from '../login/flow-trace.ts'
import { GatedClient } from '../login/gated-client.ts'
import { checkAddress } from '../login/login.ts'
import { noChecks, RecordingTrace, unaskedChecks } from '../login/recording-trace.ts'
import { redactUrl } from '../refusals/redact.ts'
import {
  type Compared,
  comparing,
  discreetRefusal,
  type Refusal,
  refusal,
  reworded,
} from '../refusals/refusal.ts'
import { reachedProvider } from './authorize.ts'
import { unconfirmed } from './confirmation.ts'
import type { Exchanged, exchangeCode } from './exchange.ts'
import { verifyIdToken } from './id-token.ts'
import { loginFailed, stateUnknown } from './pages.ts'
import { isClientNonce, isTooOldForExchange, type PendingLogin, type ProviderError } from './pending-login.ts'
import type { EndReason, PendingLogins } from './pending-logins.ts'
import { fetchUserInfo } from './userinfo.ts'

export type CallbackInput = {
  readonly state: string
  readonly code: string
  readonly client_nonce: string
  readonly iss: string
}

export type CallbackContext = {
  readonly state: MountState
  readonly pending: PendingLogins
  readonly outbound: OutboundClient
  readonly limits: JwsLimits
  readonly remoteAddress: string
  /** What the provider sent instead of a code, if it refused. */
  readonly providerError: ProviderError | undefined
  readonly signal: AbortSignal | undefined
  /** Filled in as more becomes known. */
  readonly attempt: Attempt
  /** Milliseconds since the epoch. */
  now(): number
  readonly log: CallbackLog
}

export type CallbackLog = { readonly warn: LogLine; readonly debug: LogLine }

/** This code stands for the one that was posted. docs/contract/oidc.md#the-callback-in-this-order */
const codeOfForm = 'no_code'

/**
 * Determines who returned from the provider, and what the role grants, in the order of
 * docs/contract/oidc.md#the-callback-in-this-order Throws the first refusal.
 */
export async function finishLogin(input: CallbackInput, context: CallbackContext): Promise<LoginAuth> {
  const { flow } = context.attempt
  const ready = await context.state.findConfig()
  if (ready === undefined)
    throw flow.refused(refusal('config_missing', `${loginFailed} Could not load configuration`))
  flow.ready = ready
  flow.passed('config')
  const login = await context.pending.take(input.state, (waiting) => checkConfirmed(waiting, input, context))
  if (login === undefined)
    throw flow.refused(unknownState(input.state, context.pending.endReason(input.state)))
  context.attempt.role = login.role
  flow.login = login
  flow.roleName = login.role
  flow.passed('state')
  flow.check(
    'client_nonce',
    isClientNonce(login, input.client_nonce) ? undefined : wrongClientNonce(login, input.client_nonce),
  )
  const role = await context.state.roles.find(login.role)
  if (role === undefined)
    throw flow.refused(refusal('role_unknown', `${loginFailed} Role could not be found`))
  flow.role = role
  flow.passed('role')
  flow.check('address', checkAddress(role, context.remoteAddress))
  const provider = await reachedProvider(ready)
  if (isRefusal(provider))
    throw flow.refused(reworded(provider, (text) => `error getting provider for login operation: ${text}`))
  flow.passed('provider', { expected: [], seen: redactUrl(ready.config.oidc_discovery_url) })
  const answering = checkAnswering([input.iss, login.issuer], ready.config.oidc_discovery_url)
  if (answering !== undefined) throw flow.refused(answering)
  const begun: LoginContext = { ...context, input, ready, provider, login }
  const returned = await vouchedClaims(begun)
  if (isRefusal(returned)) throw flow.refused(returned)
  flow.claims = returned.claims
  flow.check('subject', checkSubject(returned.claims, role))
  const merged = await withUserInfo(returned, begun)
  flow.claims = merged
  if (role.record.verbose_oidc_logging === true) logVerbosely(returned.idToken, merged, context.log)
  return grantedLogin(merged, { ...begun, role, accessToken: returned.exchanged?.accessToken })
}

/**
 * Decides the login from the claims. All checks are recorded, so that one refusal does not hide another;
 * after the first refusal no other server is asked.
 */
async function grantedLogin(
  claims: StrictObject,
  context: LoginContext & { role: Role; accessToken: string | undefined },
): Promise<LoginAuth> {
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

const unknownState = (state: string, reason: EndReason | undefined): Refusal =>
  comparing(refusal('state_unknown', `${loginFailed} ${stateUnknown}`), {
    expected: [expectedState],
    // only enough of it to identify it
    seen: state === '' ? '' : `${state.slice(0, 5)}…${/,ns=.*$/.exec(state)?.[0] ?? ''}`,
    detail: state.includes(',ns=')
      ? 'the client must cut `,ns=…` off'
      : reason === undefined
        ? ''
        : endTexts[reason],
    hint: '',
  })

const endTexts: Readonly<Record<EndReason, string>> = {
  used: 'it came back before: used already',
  expired: 'it came back too late: expired',
}

const wrongClientNonce = ({ client_nonce: begun }: PendingLogin, sent: string): Refusal =>
  comparing(refusal('client_nonce_mismatch', 'invalid client_nonce'), {
    expected: begun === '' ? [] : ['the client_nonce that was sent to auth_url'],
    seen: sent === '' ? null : 'another one',
    hint: '',
  })

/**
 * Before the form is confirmed, a poll leaves the login unchanged and may be repeated. A poll by another
 * client ends it.
 */
async function checkConfirmed(
  login: PendingLogin,
  input: CallbackInput,
  { state, attempt }: CallbackContext,
): Promise<void> {
  if (!usesForm(login, input.code) || !isClientNonce(login, input.client_nonce)) return
  const role = await state.roles.find(login.role)
  const refused = role && unconfirmed(login, role)
  if (refused === undefined) return
  attempt.role = login.role
  attempt.flow.login = login
  throw attempt.flow.refused(refused)
}

/**
 * Whether the token would be issued for a posted form, rather than for a code that the caller has.
 * docs/contract/oidc.md#the-page-of-a-form
 */
const usesForm = (login: PendingLogin, code: string): boolean =>
  (code === codeOfForm && login.code !== '') ||
  ((code === codeOfForm || code === '') && login.id_token !== '')

/** A callback that belongs to a login in progress. */
type LoginContext = CallbackContext & {
  readonly input: CallbackInput
  readonly ready: ReadyConfig
  readonly provider: ReadyProvider
  readonly login: PendingLogin
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
type Returned = {
  readonly claims: StrictObject
  readonly idToken: string
  readonly exchanged: Exchanged | undefined
}

/** Verifies a stored ID token, or exchanges the code. */
async function vouchedClaims(context: LoginContext): Promise<Returned | Refusal> {
  const { input, login } = context
  const code = input.code === codeOfForm ? login.code : input.code
  if (code !== '') {
    const returned = await claimsByCode(code, context)
    return isRefusal(returned)
      ? reworded(
          returned,
          (text) => `${loginFailed} Error exchanging oidc code: ${quoted(text, longestError)}.`,
        )
      : returned
  }
  if (login.id_token === '') return nothingReceived(context)
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
function nothingReceived({ providerError, login, input }: LoginContext): Refusal {
  const error = providerError ?? (login.refused ? login.provider_error : undefined)
  const code = error?.error.trim().toLowerCase() ?? ''
  const text = `${loginFailed} ${registeredErrors.has(code) ? code : 'No code or id_token received.'}`
  if (error === undefined) {
    const seen = [...(input.state === '' ? [] : ['state']), ...(input.iss === '' ? [] : ['iss'])]
    return comparing(refusal('code_missing', text), { expected: ['code'], seen, hint: '' })
  }
  const seen = [error.error, error.error_description].filter((part) => part !== '')
  return comparing(refusal('provider_refused', text), { expected: ['code'], seen, isLong: true, hint: '' })
}

/** Texts of the provider are already truncated. */
const longestError = 4096

/** The refusal's text lacks its prefix. docs/contract/oidc.md#the-callback-in-this-order */
async function claimsByCode(code: string, context: LoginContext): Promise<Returned | Refusal> {
  const { input, login, ready, provider, outbound, signal, now } = context
  const exchanging = (refused: Refusal) => reworded(refused, (text) => `Provider.Exchange: ${text}`)
  const failed = (text: string, compared: Compared) =>
    comparing(exchanging(refusal('exchange_failed', text)), { ...compared, hint: '' })
  const { flow } = context.attempt
  flow.passed('code', { expected: ['code'], seen: 'code' })
  if (login.code_verifier === '') {
    const text = `request (${input.state}) should not be using the implicit flow: invalid OIDC flow`
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
  if ('reason' in verified)
    return exchanging(reworded(verified, (text) => `id_token failed verification: ${text}`))
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
  if (codeHash !== '' && !hashMatches(codeHash, code, algorithm))
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
  return verified
}

/** It only ties the token to this login; it is not a claim about anyone. */
const withoutNonce = (claims: StrictObject): StrictObject =>
  Object.fromEntries(Object.entries(claims).filter(([name]) => name !== 'nonce'))

function checkSubject(claims: StrictObject, { record }: Role): Refusal | undefined {
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
function logVerbosely(idToken: string, claims: StrictObject, log: CallbackLog): void {
  log.debug(
    { event: 'oidc_token', id_token: `${idToken.slice(0, idToken.lastIndexOf('.') + 1)}xxxxxxxxxxx` },
    'OIDC provider response',
  )
  log.debug({ event: 'oidc_claims', claims: JSON.stringify(claims, plainly) }, 'OIDC claims')
}

const plainly = (_name: string, value: unknown): unknown =>
  typeof value === 'bigint' ? value.toString() : value
