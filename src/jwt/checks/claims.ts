import type { TokenSettings } from '../../core/tokens/store/token-fields.ts'
import { addressMatches } from '../../lib/net/cidr.ts'
import { excerpt, goText, quoted } from '../../lib/text/go-text.ts'
import { lookupClaim } from '../../lib/text/json-pointer.ts'
import { type Refusal, refusal } from '../../logins/refusals/refusal.ts'
import { claimText } from '../jws/member-text.ts'
import { isPlainObject, ownMember, type StrictObject } from '../jws/strict-json.ts'

/** Seconds, as stored in the role: 0 is the default, a negative value none. */
export type Leeways = {
  readonly expiration_leeway: number
  readonly not_before_leeway: number
  readonly clock_skew_leeway: number
  /** The other leeways do not count for an `exp` or `nbf` that is present. docs/contract/cel.md#login */
  readonly onlySkew?: boolean
  /** A token may have none of the times. docs/contract/kubernetes.md#login-in-this-order */
  readonly areOptional?: boolean
}

/** Of a login from an address that the role does not bind. */
export const addressRefusal = (
  { token_bound_cidrs }: Pick<TokenSettings, 'token_bound_cidrs'>,
  address: string,
): Refusal | undefined =>
  addressMatches(token_bound_cidrs, address) ? undefined : refusal('address_not_bound', 'permission denied')

/** What a role and its mount require of the registered claims. */
export type TokenRules = Leeways & {
  readonly bound_issuer: string
  readonly bound_subject: string
  readonly bound_audiences: readonly string[]
}

/** The registered claims of a token, typed. Times are whole seconds; 0 if absent. */
type RegisteredClaims = {
  readonly issuer: string
  readonly subject: string
  /** Undefined if there is no `aud`. */
  readonly audiences: readonly string[] | undefined
  readonly expiresAt: number
  readonly notBefore: number
  readonly issuedAt: number
}

/** Called for each check of a token, with the refusal if it failed. */
export type OnCheck = (
  name: 'claims' | 'issuer' | 'subject' | 'audience' | 'times',
  refused: Refusal | undefined,
) => void

/**
 * Checks the registered claims in the order of docs/contract/jwt.md#login-in-this-order. If a type is wrong,
 * nothing else is checked. `nowMs` is milliseconds since the epoch.
 */
export function checkToken(claims: StrictObject, rules: TokenRules, nowMs: number, note: OnCheck): void {
  const registered = readRegistered(claims)
  if ('reason' in registered) {
    note('claims', registered)
    return
  }
  note('claims', undefined)
  note('issuer', checkIssuer(registered.issuer, rules.bound_issuer))
  note('subject', checkSubject(registered.subject, rules.bound_subject))
  note('audience', checkAudience(registered.audiences, rules.bound_audiences))
  note('times', checkTimes(registered, rules, nowMs))
}

/** The types of the registered claims. Names are exact: a spelling that differs in case is another claim. */
function readRegistered(claims: StrictObject): RegisteredClaims | Refusal {
  const texts = { iss: '', sub: '', jti: '' }
  for (const name of ['iss', 'sub', 'jti'] as const) {
    const value = ownMember(claims, name) ?? ''
    if (typeof value !== 'string')
      return refusal('claim_type_invalid', `json: cannot unmarshal ${name} into a string`)
    texts[name] = value
  }
  const times = { exp: 0, nbf: 0, iat: 0 }
  for (const name of ['exp', 'nbf', 'iat'] as const) {
    const value = ownMember(claims, name) ?? 0
    const seconds = typeof value === 'bigint' ? Number(value) : value
    if (typeof seconds !== 'number' || !Number.isFinite(seconds)) {
      return refusal(
        'claim_type_invalid',
        'go-jose/go-jose/jwt: expected number value to unmarshal NumericDate',
      )
    }
    times[name] = Math.trunc(seconds)
  }
  const audiences = Object.hasOwn(claims, 'aud') ? readAudiences(claims.aud) : undefined
  if (audiences === null) {
    return refusal(
      'claim_type_invalid',
      'go-jose/go-jose/jwt: expected string or array value to unmarshal to Audience',
    )
  }
  return {
    issuer: texts.iss,
    subject: texts.sub,
    audiences,
    expiresAt: times.exp,
    notBefore: times.nbf,
    issuedAt: times.iat,
  }
}

/** Null if it is neither a string nor a list of strings. */
function readAudiences(aud: unknown): readonly string[] | null {
  if (typeof aud === 'string') return [aud]
  return Array.isArray(aud) && aud.every((item): item is string => typeof item === 'string') ? aud : null
}

const checkIssuer = (issuer: string, bound: string): Refusal | undefined =>
  bound === '' || issuer === bound ? undefined : refusal('issuer_mismatch', 'invalid issuer (iss) claim')

const checkSubject = (subject: string, bound: string): Refusal | undefined =>
  bound === '' || subject === bound ? undefined : refusal('subject_mismatch', 'invalid subject (sub) claim')

/** One match suffices. docs/contract/jwt.md#login-in-this-order */
export function checkAudience(
  audiences: readonly string[] | undefined,
  bound: readonly string[],
): Refusal | undefined {
  if (bound.length === 0 || audiences?.some((audience) => bound.includes(audience))) return undefined
  return refusal(
    'audience_mismatch',
    'invalid audience (aud) claim: audience claim does not match any expected audience',
  )
}

/** A token with an audience needs a role with `bound_audiences`. docs/contract/jwt.md#login-in-this-order */
export function checkUnboundAudience(claims: StrictObject, bound: readonly string[]): Refusal | undefined {
  const audience = ownMember(claims, 'aud') ?? undefined
  const isNamed = Array.isArray(audience) ? audience.length > 0 : audience !== undefined && audience !== ''
  if (bound.length > 0 || !isNamed) return undefined
  return refusal('audience_unbound', 'audience claim found in JWT but no audiences bound to the role')
}

const effective = (stored: number, byDefault: number): number =>
  stored < 0 ? 0 : stored === 0 ? byDefault : stored

/** How long after its own end a token is still accepted, in seconds. */
export const lastingLeeway = (leeways: Omit<Leeways, 'not_before_leeway'>): number =>
  effective(leeways.expiration_leeway, 150) + effective(leeways.clock_skew_leeway, 60)

/** When an accepted token expires by its own claims, in seconds since the epoch. */
export function claimedEnd(claims: StrictObject): number {
  const [expiresAt = 0, ...starts] = ['exp', 'iat', 'nbf'].map((name) =>
    Math.trunc(Number(ownMember(claims, name) ?? 0)),
  )
  return expiresAt === 0 ? Math.max(...starts) : expiresAt
}

/**
 * Derives missing times from those present, then compares all of them with the clock. A time on the boundary
 * is valid.
 */
function checkTimes(
  { expiresAt, notBefore, issuedAt }: Pick<RegisteredClaims, 'expiresAt' | 'notBefore' | 'issuedAt'>,
  leeways: Leeways,
  nowMs: number,
): Refusal | undefined {
  if (expiresAt === 0 && notBefore === 0 && issuedAt === 0) {
    if (leeways.areOptional === true) return undefined
    return refusal(
      'times_missing',
      'no issued at (iat), not before (nbf), or expiration time (exp) claims in token',
    )
  }
  const expiration = effective(leeways.expiration_leeway, 150)
  const beforehand = effective(leeways.not_before_leeway, 150)
  const skew = effective(leeways.clock_skew_leeway, 60)
  const tolerance =
    leeways.onlySkew === true ? { after: 0, before: 0 } : { after: expiration, before: beforehand }
  const end = expiresAt === 0 ? Math.max(issuedAt, notBefore) + expiration : expiresAt + tolerance.after
  const start =
    notBefore !== 0 ? notBefore - tolerance.before : issuedAt !== 0 ? issuedAt : expiresAt - beforehand
  const now = nowMs / 1000
  if (now + skew < start)
    return refusal('not_yet_valid', 'invalid not before (nbf) claim: token not yet valid')
  if (now - skew > end) return refusal('expired', 'invalid expiration time (exp) claim: token is expired')
  if (now + skew < issuedAt)
    return refusal('issued_in_future', 'invalid issued at (iat) claim: token issued in the future')
  return undefined
}

/**
 * The claim that names the entity alias. It is read as a pointer only if the role says so.
 * docs/contract/jwt.md#login-in-this-order
 */
export function readUserClaim(claims: StrictObject, name: string, isPointer: boolean): string | Refusal {
  const value = isPointer ? lookupClaim(claims, name) : ownMember(claims, name)
  if (value === undefined || value === null)
    return refusal('user_claim_missing', `claim ${quoted(name)} not found in token`)
  return typeof value === 'string'
    ? value
    : refusal('user_claim_invalid', `claim ${quoted(name)} could not be converted to string`)
}

/** Which claims of a role become metadata. */
export type ClaimMappings = {
  /** Claims to keys of the metadata. */
  readonly mappings: Readonly<Record<string, string>> | null
  /** Claims of other types are refused. */
  readonly isTextOnly: boolean
}

/**
 * Alias metadata: the mapped claims that are present, and the role's name.
 * docs/contract/jwt.md#login-in-this-order
 */
export function readMetadata(
  claims: StrictObject,
  { mappings, isTextOnly }: ClaimMappings,
  roleName: string,
): { readonly metadata: Record<string, string> } | Refusal {
  const pairs: [string, string][] = []
  for (const [claim, key] of Object.entries(mappings ?? {})) {
    const value = lookupClaim(claims, claim)
    if (value === undefined) continue
    if (typeof value !== 'string' && isTextOnly)
      return refusal('mapping_invalid', `error converting claim '${excerpt(claim)}' to string`)
    pairs.push([
      key,
      typeof value === 'object' && value !== null ? claimText(claims, claim, value) : String(value),
    ])
  }
  // built from entries, so that `__proto__` is a key like any other
  return { metadata: Object.fromEntries([...pairs, ['role', roleName]]) }
}

/**
 * The group names in the value of a groups claim: a list of strings, one string, or with `areKeys` the names of the members
 * of an object, but those that are false or null. docs/contract/jwt.md#login-in-this-order
 */
export function readGroups(value: unknown, groupsClaim: string, areKeys = false): string[] | Refusal {
  if (value === undefined || value === null)
    return refusal(
      'groups_unavailable',
      `failed to fetch groups: ${quoted(groupsClaim)} claim not found in token`,
    )
  const listed = areKeys && isPlainObject(value) ? memberNames(value) : asList(value)
  if (listed === undefined)
    return refusal('groups_invalid', `${quoted(groupsClaim)} claim could not be converted to string list`)
  const groups: string[] = []
  for (const item of listed) {
    if (typeof item !== 'string')
      return refusal('groups_invalid', `value ${goText(item)} in groups claim could not be parsed as string`)
    if (item !== '') groups.push(item)
  }
  return groups
}

const memberNames = (value: StrictObject): string[] =>
  Object.keys(value).filter((name) => value[name] !== false && value[name] !== null)

/** A list unchanged, a scalar as a list of one, undefined for anything else. docs/contract/jwt.md#roles */
export function asList(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value
  return typeof value === 'string' ||
    typeof value === 'number' ||
    typeof value === 'bigint' ||
    typeof value === 'boolean'
    ? [value]
    : undefined
}
