import type { OutboundClient } from '../../../core/outbound/outbound.ts'
import type { StoredRoles } from '../../../core/records/stored-roles.ts'
import type { LoginAuth } from '../../../core/tokens/acts/issue-login.ts'
import {
  addressRefusal,
  checkToken,
  checkUnboundAudience,
  type TokenRules,
} from '../../../jwt/checks/claims.ts'
import { supportedAlgorithms } from '../../../jwt/jws/algorithms.ts'
import type { KnownTokens } from '../../../jwt/keys/known-tokens.ts'
import { quoted } from '../../../lib/text/go-text.ts'
import { type Refusal, refusal, reworded } from '../../../logins/refusals/refusal.ts'
import { checkAsToken, type TokenRequest, timesOfJwt } from '../checks/as-token.ts'
import { type ReadToken, strictTrace, type Trace } from '../checks/trace.ts'
import type { Config } from '../config/jwt-config.ts'
import type { MountState, ReadyConfig } from '../config/mount-state.ts'
import type { Role } from '../config/role.ts'
import type { Accepted } from '../what-if/noted-login.ts'
import { loginByClaims } from './claims-login.ts'
import { oneTimeProof } from './one-time.ts'

export type LoginInput = {
  readonly role: string
  readonly jwt: string
  /** For a provider that keeps the groups elsewhere; may be empty. */
  readonly distributed_claim_access_token: string
}

export type LoginContext = {
  readonly state: MountState
  /** Instead of those that are stored. */
  readonly roles?: Pick<StoredRoles<Role>, 'find'> | undefined
  readonly remoteAddress: string
  readonly outbound: OutboundClient
  /** Undefined: each token is verified each time it is sent. */
  readonly known?: KnownTokens | undefined
  /** The JWT is the token of a request, of which more is asked than of a login. */
  readonly asToken?: TokenRequest | undefined
  /** Milliseconds since the epoch, read after the signature check. */
  now(): number
  /** Called with what a login was decided by. */
  onAccepted?(accepted: Accepted): void
}

/** Determines who logs in with this token, and what the role grants. Throws the first refusal. */
export const jwtLogin = (input: LoginInput, context: LoginContext): Promise<LoginAuth> =>
  strictly((trace) => examineJwt(input, context, trace))

/** The result of checks of which the first refusal ends the login. */
export async function strictly<T>(examine: (trace: Trace) => Promise<T | undefined>): Promise<T> {
  const result = await examine(strictTrace)
  if (result === undefined) throw new Error('a login was refused without being ended')
  return result
}

/**
 * Runs the checks of docs/contract/jwt.md#login-in-this-order in that order. Returns undefined if a check
 * refused and the trace continues.
 */
export async function examineJwt(
  input: LoginInput,
  context: LoginContext,
  trace: Trace,
): Promise<LoginAuth | undefined> {
  const begun = await roleOfLogin(input.role, context.state, context.roles ?? context.state.roles, trace)
  if (begun === undefined) return undefined
  const { ready, role } = begun
  trace.check(
    'role',
    role.record.role_type === 'oidc'
      ? refusal('role_type_refused', 'role with oidc role_type is not allowed')
      : undefined,
  )
  trace.check('token', input.jwt === '' ? refusal('token_missing', 'missing token') : undefined)
  // before the work of checking the signature
  trace.check('address', addressRefusal(role.record, context.remoteAddress))
  const token = await verifiedToken(input.jwt, { ready, role, context, trace })
  if (token === undefined) return undefined
  const { config } = ready
  const accessToken = input.distributed_claim_access_token
  const named = await loginByClaims(token.claims, role, {
    config,
    trace,
    outbound: context.outbound,
    accessToken,
    signal: undefined,
    now: context.now,
  })
  const auth = usedAsToken(named, token, { ready, role, context, trace })
  context.onAccepted?.({ role, token, keyset: ready.keyset })
  if (context.asToken !== undefined) return auth
  return role.record.token_replay_protection === true ? usableOnce(auth, token) : auth
}

/** The configuration of the mount, and the role that the login names, or else the default one. */
export async function roleOfLogin<Of extends object>(
  named: string,
  state: MountState,
  roles: Pick<StoredRoles<Of>, 'find'>,
  trace: Trace,
): Promise<{ readonly ready: ReadyConfig; readonly role: Of } | undefined> {
  const missing = refusal('config_missing', 'could not load configuration')
  const ready = trace.value('config', (await state.findConfig()) ?? missing)
  if (ready === undefined) return undefined
  const role = trace.value('role', await namedRole(named || ready.config.default_role, roles))
  return role && { ready, role }
}

export type Verification = {
  readonly ready: ReadyConfig
  readonly role: Role
  readonly context: Pick<LoginContext, 'remoteAddress' | 'known' | 'asToken' | 'now'>
  readonly trace: Trace
}

/** The token, once its signature and registered claims are checked. */
export async function verifiedToken(
  jwt: string,
  { ready, role, context, trace }: Verification,
): Promise<ReadToken | undefined> {
  const { known, remoteAddress } = context
  const token = await trace.claims(() =>
    known === undefined
      ? ready.keyset.verify(jwt, remoteAddress)
      : known.verify(jwt, remoteAddress, ready.keyset),
  )
  if (token === undefined) return undefined
  checkVerified(token, { role, config: ready.config, nowMs: context.now() }, trace)
  return token
}

/** A login by a JWT that is the token of a request, of which more is asked than of other logins. */
export function usedAsToken(
  auth: LoginAuth | undefined,
  token: ReadToken,
  { ready: { config }, role, context, trace }: Verification,
): LoginAuth | undefined {
  if (context.asToken === undefined) return auth
  const nowMs = context.now()
  checkAsToken(token, { ...context.asToken, role, config, nowMs }, (name, refused) =>
    trace.check(name, refused),
  )
  return auth && { ...auth, jwt: timesOfJwt(token.claims, nowMs) }
}

/** docs/contract/jwt.md#once-only */
function usableOnce(auth: LoginAuth | undefined, token: ReadToken): LoginAuth | undefined {
  const proof = oneTimeProof(token)
  return auth === undefined || proof === undefined ? auth : { ...auth, proof }
}

/**
 * docs/contract/jwt.md#login-in-this-order, docs/contract/oidc.md#the-authorization-url; the name is
 * lower-case.
 */
export async function namedRole<Of extends object>(
  name: string,
  roles: Pick<StoredRoles<Of>, 'find'>,
): Promise<Of | Refusal> {
  if (name === '') return refusal('role_missing', 'missing role')
  return (await roles.find(name)) ?? refusal('role_unknown', `role ${quoted(name)} could not be found`)
}

/** The checks that follow a valid signature, up to the registered claims. */
export function checkVerified(
  { claims, algorithm }: ReadToken,
  { role, config, nowMs }: { role: Role; config: Config; nowMs: number },
  trace: Trace,
): void {
  const accepted: readonly string[] =
    config.jwt_supported_algs.length > 0 ? config.jwt_supported_algs : supportedAlgorithms
  const unexpected =
    'error validating token: invalid algorithm (alg) header parameter: token signed with unexpected algorithm'
  trace.check(
    'algorithm',
    accepted.includes(algorithm) ? undefined : refusal('algorithm_not_allowed', unexpected),
  )
  const rules = tokenRules(role, config)
  checkToken(claims, rules, nowMs, (name, refused) => {
    trace.check(name, refused && reworded(refused, (text) => `error validating token: ${text}`))
  })
  if (role.isCel !== true) trace.check('audience', checkUnboundAudience(claims, rules.bound_audiences))
}

/** What a token must satisfy for this role. */
export const tokenRules = ({ record, isCel }: Role, config: Config): TokenRules => ({
  onlySkew: isCel === true,
  bound_issuer: config.bound_issuer,
  bound_subject: record.bound_subject ?? '',
  bound_audiences: record.bound_audiences ?? [],
  expiration_leeway: record.expiration_leeway ?? 0,
  not_before_leeway: record.not_before_leeway ?? 0,
  clock_skew_leeway: record.clock_skew_leeway ?? 0,
})
