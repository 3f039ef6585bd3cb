import type { OutboundClient } from '../../../core/outbound.ts'
import type { LoginAuth } from '../../../core/tokens/issue-login.ts'
import { quoted } from '../../../lib/go-text.ts'
import type { Attempt } from '../attempt.ts'
import { loginByClaims } from '../claims-login.ts'
import type { ReadyProvider } from '../discovered-provider.ts'
import type { JwsLimits } from '../jws.ts'
import type { VerifiedToken } from '../keyset.ts'
import { checkAddress } from '../login.ts'
import type { MountState, ReadyConfig } from '../mount-state.ts'
import { discreetRefusal, type Refusal, refusal, reworded } from '../refusal.ts'
import type { Role } from '../role.ts'
import { shownUrl } from '../shown-url.ts'
import type { StrictObject } from '../strict-json.ts'
import { isRefusal, strictTrace, thrown } from '../trace.ts'
import { loginFailed, stateUnknown } from './answer-texts.ts'
import { reachedProvider } from './authorize.ts'
import { unconfirmed } from './confirmation.ts'
import { type Exchanged, ExchangeError, exchangeCode, hashMatches } from './exchange.ts'
import { verifyIdToken } from './id-token.ts'
import { isClientNonce, isTooOldForExchange, type PendingLogin } from './pending-login.ts'
import type { PendingLogins } from './pending-logins.ts'
import { fetchUserInfo } from './userinfo.ts'

export type CallbackInput = { readonly state: string; readonly code: string; readonly client_nonce: string; readonly iss: string }

export type CallbackContext = {
  readonly state: MountState
  readonly pending: PendingLogins
  readonly outbound: OutboundClient
  readonly limits: JwsLimits
  readonly remoteAddress: string
  /** The provider sent `error` in place of a code. */
  readonly providerRefused: boolean
  readonly signal: AbortSignal | undefined
  /** Filled in as more is known. */
  readonly attempt: Attempt
  /** Milliseconds since the epoch. */
  now(): number
  readonly log: CallbackLog
}

export type CallbackLog = { warn(fields: object, message: string): void; debug(fields: object, message: string): void }

/** A code in its place means: the one a form brought. Contract jwt-oidc §5.6 step 7. */
const codeOfForm = 'no_code'

/** Who comes back from the provider, and what the role grants. Contract jwt-oidc §5.6 steps 1 to 12, in that order. Throws the first refusal. */
export async function finishLogin(input: CallbackInput, context: CallbackContext): Promise<LoginAuth> {
  const ready = await context.state.findConfig()
  if (ready === undefined) throw thrown(refusal('config_missing', `${loginFailed} Could not load configuration`))
  const login = await context.pending.take(input.state, (waiting) => checkConfirmed(waiting, input, context))
  if (login === undefined) throw thrown(refusal('state_unknown', `${loginFailed} ${stateUnknown}`))
  context.attempt.role = login.role
  if (!isClientNonce(login, input.client_nonce)) throw thrown(refusal('client_nonce_mismatch', 'invalid client_nonce'))
  const role = await context.state.findRole(login.role)
  if (role === undefined) throw thrown(refusal('role_unknown', `${loginFailed} Role could not be found`))
  strictTrace.check('address', checkAddress(role, context.remoteAddress))
  const provider = await reachedProvider(ready)
  if (isRefusal(provider)) throw thrown(reworded(provider, (text) => `error getting provider for login operation: ${text}`))
  strictTrace.check('issuer', checkAnswering([input.iss, login.issuer], ready.config.oidc_discovery_url))
  const begun: LoginContext = { ...context, input, ready, provider, login }
  const returned = await vouchedClaims(begun)
  if (isRefusal(returned)) throw thrown(returned)
  strictTrace.check('subject', checkSubject(returned.claims, role))
  const merged = await withUserInfo(returned, begun)
  if (role.record.verbose_oidc_logging === true) logVerbosely(returned.idToken, merged, context.log)
  const reach = { outbound: context.outbound, accessToken: returned.exchanged?.accessToken, signal: context.signal, now: context.now }
  const auth = await loginByClaims(merged, role, { config: ready.config, trace: strictTrace, ...reach })
  if (auth === undefined) throw new Error('a login was refused without being ended')
  return auth
}

/** A login whose form nobody has confirmed yet stays as it is: who asks may ask again. One that another client asks for ends. */
async function checkConfirmed(login: PendingLogin, input: CallbackInput, { state, attempt }: CallbackContext): Promise<void> {
  if (!usesForm(login, input.code) || !isClientNonce(login, input.client_nonce)) return
  const role = await state.findRole(login.role)
  const refused = role && unconfirmed(login, role)
  if (refused === undefined) return
  attempt.role = login.role
  throw thrown(refused)
}

/** Whether a token would be given for what a form brought, not for a code that the caller has. Contract jwt-oidc §5.6 step 7. */
const usesForm = (login: PendingLogin, code: string): boolean =>
  (code === codeOfForm && login.code !== '') || ((code === codeOfForm || code === '') && login.id_token !== '')

/** A callback that belongs to a login under way. */
type LoginContext = CallbackContext & {
  readonly input: CallbackInput
  readonly ready: ReadyConfig
  readonly provider: ReadyProvider
  readonly login: PendingLogin
}

/** A code of another provider must not be shown to this one, however it got here; a provider that does not say who it is is believed. RFC 9207 §2.4. */
function checkAnswering(issuers: readonly string[], expected: string): Refusal | undefined {
  const other = issuers.find((issuer) => issuer !== '' && issuer !== expected)
  if (other === undefined) return undefined
  const text = `${loginFailed} Authorization response of a different provider, expected ${quoted(shownUrl(expected))} got ${quoted(other)}.`
  return refusal('issuer_mismatch', text)
}

/** What came back from the provider, vouched for. `exchanged` is missing where it sent an ID token instead of a code. */
type Returned = { readonly claims: StrictObject; readonly idToken: string; readonly exchanged: Exchanged | undefined }

/** Steps 7 and 8: by a stored ID token, or by a code. */
async function vouchedClaims(context: LoginContext): Promise<Returned | Refusal> {
  const { input, login } = context
  const code = input.code === codeOfForm ? login.code : input.code
  if (code !== '') {
    const returned = await claimsByCode(code, context)
    return isRefusal(returned) ? reworded(returned, (text) => `${loginFailed} Error exchanging oidc code: ${quoted(text, longestError)}.`) : returned
  }
  if (login.id_token === '') {
    const reason = context.providerRefused || login.refused ? 'provider_refused' : 'code_missing'
    return refusal(reason, `${loginFailed} No code or id_token received.`)
  }
  const verified = await attemptedToken(login.id_token, context)
  if ('reason' in verified) return reworded(verified, (text) => `Token verification failed. ${text}`)
  return { claims: withoutNonce(verified.claims), idToken: login.id_token, exchanged: undefined }
}

/** Texts of the provider were cut before. */
const longestError = 4096

/** Contract jwt-oidc §5.7. The refusal's text lacks what stands before it. */
async function claimsByCode(code: string, context: LoginContext): Promise<Returned | Refusal> {
  const { input, login, ready, provider, outbound, signal, now } = context
  const exchanging = (refused: Refusal) => reworded(refused, (text) => `Provider.Exchange: ${text}`)
  const failed = (reason: Refusal['reason'], text: string) => exchanging(refusal(reason, text))
  if (login.code_verifier === '') {
    return failed('exchange_failed', `request (${input.state}) should not be using the implicit flow: invalid OIDC flow`)
  }
  if (isTooOldForExchange(login, now())) return failed('exchange_failed', 'authentication request is expired: invalid parameter')
  const exchanged = await exchangeOrWhy(code, login, { outbound, config: ready.config, document: provider.document, signal })
  if ('reason' in exchanged) return exchanging(reworded(exchanged, (text) => `unable to exchange auth code with provider: ${text}`))
  const { idToken, accessToken } = exchanged
  if (idToken === undefined) return failed('exchange_failed', 'id_token is missing from auth code exchange: id_token is missing')
  if (idToken === '') return failed('exchange_failed', 'unable to create new id_token: NewToken: id_token is empty: invalid parameter')
  const verified = await attemptedToken(idToken, context)
  if ('reason' in verified) return exchanging(reworded(verified, (text) => `id_token failed verification: ${text}`))
  const { claims, algorithm } = verified
  const wrongHash = (what: string) => `failed verification: VerifyAccessToken: verifyHashClaim: ${what} hash does not match value in id_token`
  if (!hashMatches(ownClaim(claims, 'at_hash'), accessToken, algorithm)) return failed('exchange_failed', `access_token ${wrongHash('access_token')}`)
  const codeHash = ownClaim(claims, 'c_hash')
  if (codeHash !== '' && !hashMatches(codeHash, code, algorithm)) return failed('exchange_failed', `code hash ${wrongHash('authorization code')}`)
  return { claims: withoutNonce(claims), idToken, exchanged }
}

async function exchangeOrWhy(...given: Parameters<typeof exchangeCode>): Promise<Exchanged | Refusal> {
  try {
    return await exchangeCode(...given)
  } catch (error) {
    if (error instanceof ExchangeError) return discreetRefusal('exchange_failed', { text: error.told, cause: error.message })
    throw error
  }
}

async function attemptedToken(idToken: string, context: LoginContext): Promise<VerifiedToken | Refusal> {
  const { attempt, provider, limits } = context
  attempt.token = idToken
  const verified = await verifyIdToken(idToken, provider.keys, rulesOf(context), limits)
  attempt.isVerified = !isRefusal(verified)
  return verified
}

const rulesOf = ({ ready, login, now }: LoginContext) => ({ config: ready.config, login, nowMs: now() })

const ownClaim = (claims: StrictObject, name: string): unknown => (Object.hasOwn(claims, name) ? claims[name] : undefined)

/** It was there to tie the token to this login, and is no claim about anyone. */
const withoutNonce = (claims: StrictObject): StrictObject => Object.fromEntries(Object.entries(claims).filter(([name]) => name !== 'nonce'))

/** Step 9. */
function checkSubject(claims: StrictObject, { record }: Role): Refusal | undefined {
  const bound = record.bound_subject ?? ''
  return bound === '' || ownClaim(claims, 'sub') === bound ? undefined : refusal('subject_mismatch', 'sub claim does not match bound subject')
}

/** Step 10: never a reason to refuse. Contract jwt-oidc §5.9. */
async function withUserInfo({ claims, exchanged }: Returned, context: LoginContext): Promise<StrictObject> {
  const { provider, ready, outbound, limits, signal, log } = context
  if (exchanged === undefined || provider.document.userinfo_endpoint === '') return claims
  const info = await fetchUserInfo(exchanged, ownClaim(claims, 'sub'), { outbound, config: ready.config, provider, limits, signal })
  if ('claims' in info) return Object.fromEntries([...Object.entries(claims), ...Object.entries(info.claims)])
  log.warn({ event: 'userinfo_unusable', cause: info.unusable }, 'what the provider says of a person was left out of a login')
  return claims
}

/** For who is told to see what a provider sends; a signature would let the reader use the token. Contract jwt-oidc §3.2. */
function logVerbosely(idToken: string, claims: StrictObject, log: CallbackLog): void {
  log.debug({ event: 'oidc_token', id_token: `${idToken.slice(0, idToken.lastIndexOf('.') + 1)}xxxxxxxxxxx` }, 'OIDC provider response')
  log.debug({ event: 'oidc_claims', claims: JSON.stringify(claims, plainly) }, 'OIDC claims')
}

const plainly = (_name: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value)
