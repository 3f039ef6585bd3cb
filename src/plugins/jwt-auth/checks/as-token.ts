import type { JwtTimes } from '../../../core/tokens/acts/auth-block.ts'
import { isPlainObject, ownMember, type StrictObject } from '../../../jwt/jws/strict-json.ts'
import {
  type CheckName,
  type Compared,
  comparing,
  type ReasonCode,
  type Refusal,
  refusal,
} from '../../../logins/refusals/refusal.ts'
import type { Config } from '../config/jwt-config.ts'
import type { Role } from '../config/role.ts'
import type { ReadToken } from './trace.ts'

/** What is known of the request whose token is a JWT. */
export type TokenRequest = {
  /** SHA-256 of the client's verified certificate, in base64url; undefined without one. */
  readonly certificate: string | undefined
}

type Context = TokenRequest & { readonly role: Role; readonly config: Config; readonly nowMs: number }

/**
 * What a JWT that is the token of a request must satisfy beyond a login. The caller is told nothing of it.
 * docs/contract/inline-login.md#what-is-asked-of-it
 */
export function checkAsToken(
  { claims, type }: ReadToken,
  { role: { record }, config, nowMs, certificate }: Context,
  note: (name: CheckName, refused: Refusal | undefined) => void,
): void {
  note(
    'audience',
    (record.bound_audiences ?? []).length > 0 ? undefined : refusal('audience_unbound', denied),
  )
  note('lifetime', checkLifetime(claims, config.token_max_lifetime, nowMs))
  note('type', checkType(type))
  note('proof', checkProof(claims, certificate))
  const isSpent = record.token_replay_protection === true
  note(
    'role',
    isSpent
      ? refused('role_type_refused', { expected: [false], seen: true, detail: 'token_replay_protection' })
      : undefined,
  )
  note('authorization_details', checkDetails(claims, config))
}

const denied = 'permission denied'
const refused = (reason: ReasonCode, compared: Compared): Refusal =>
  comparing(refusal(reason, denied), { hint: '', ...compared })

/** In whole seconds; undefined for a claim that is absent or 0. */
function timeOf(claims: StrictObject, name: 'exp' | 'iat'): number | undefined {
  const seconds = Math.trunc(Number(ownMember(claims, name) ?? 0))
  return Number.isFinite(seconds) && seconds !== 0 ? seconds : undefined
}

function checkLifetime(claims: StrictObject, mostSeconds: number, nowMs: number): Refusal | undefined {
  const end = timeOf(claims, 'exp')
  const seconds = end === undefined ? undefined : end - (timeOf(claims, 'iat') ?? Math.floor(nowMs / 1000))
  if (seconds !== undefined && (mostSeconds === 0 || seconds <= mostSeconds)) return undefined
  return refused('lifetime_too_long', { expected: [mostSeconds], seen: seconds ?? null, detail: 'exp' })
}

const types = ['jwt', 'at+jwt', 'jose']

/** Logout tokens, security events and proofs are JWTs too, but no credentials. RFC 8725 §3.11 */
function checkType(type: unknown): Refusal | undefined {
  if (type === undefined) return undefined
  const name = typeof type === 'string' ? type.toLowerCase().replace(/^application\//, '') : ''
  return types.includes(name)
    ? undefined
    : refused('type_unexpected', { expected: types, seen: type, detail: 'typ' })
}

/** A bound token without its proof is a stolen one. RFC 7800 §3, RFC 8705 §3.1 */
function checkProof(claims: StrictObject, certificate: string | undefined): Refusal | undefined {
  const bound = ownMember(claims, 'cnf')
  if (bound === undefined) return undefined
  const isProven =
    isPlainObject(bound) &&
    Object.keys(bound).length === 1 &&
    certificate !== undefined &&
    ownMember(bound, 'x5t#S256') === certificate
  return isProven
    ? undefined
    : refused('proof_missing', {
        expected: certificate === undefined ? [] : [certificate],
        seen: bound,
        detail: 'cnf',
      })
}

/** The claim narrows what the token may do. It is not read yet, so a token that has it is refused. RFC 9396 §9.1 */
function checkDetails(claims: StrictObject, config: Config): Refusal | undefined {
  const details = ownMember(claims, 'authorization_details')
  if (details === undefined && !config.require_authorization_details) return undefined
  return refused('authorization_details_invalid', {
    expected: [],
    seen: details ?? null,
    detail: 'authorization_details',
  })
}

const lastSecond = 253_402_300_799
const withinCalendar = (seconds: number): number => Math.min(lastSecond, Math.max(0, seconds)) * 1000

/** When a JWT was issued and when it ends, within the years that a date can show. */
export const timesOfJwt = (claims: StrictObject, nowMs: number): JwtTimes => ({
  issuedAt: withinCalendar(timeOf(claims, 'iat') ?? Math.floor(nowMs / 1000)),
  endsAt: withinCalendar(timeOf(claims, 'exp') ?? 0),
})
