import { lookupClaim } from '../../../lib/json-pointer.ts'
import type { JsonValue } from '../../../lib/json.ts'
import { formatTime } from '../../../lib/time.ts'
import { supportedAlgorithms } from '../algorithms.ts'
import { checkToken } from '../claims.ts'
import { tokenRules } from '../login.ts'
import type { ReadyConfig } from '../mount-state.ts'
import type { CheckName, Refusal } from '../refusal.ts'
import type { Role } from '../role.ts'
import type { ClockOffset } from '../source-history.ts'
import type { StrictObject } from '../strict-json.ts'
import { type Hint, nearMiss } from './hints.ts'
import { shown, shownList } from './shown.ts'

/** All that the checks of a login look at, as far as it is there. */
export type Facts = {
  readonly ready: ReadyConfig | undefined
  readonly role: Role | undefined
  /** As the caller names it, or the mount's default. */
  readonly roleName: string
  readonly remoteAddress: string
  /** Of the header of a token, "" where it has none. */
  readonly keyId: string
  readonly algorithm: string
  readonly claims: StrictObject | undefined
  readonly nowMs: number
  readonly offset: ClockOffset | undefined
}

/** What a check wanted and what it got. */
export type Description = { readonly expected: JsonValue[]; readonly seen: JsonValue; readonly hint: Hint; readonly detail: string }

/** `refused` is undefined for a check that was passed or not made. `index` counts the entries of `bound_claims`. */
export function describe(name: CheckName | 'policies', facts: Facts, refused: Refusal | undefined, index: number): Description {
  const { expected, seen, detail = '', isLiteral = true, hint } = comparisons[name](facts, refused, index)
  const missed = refused === undefined ? '' : (hint ?? nearMiss({ expected, seen: Array.isArray(seen) ? seen : [seen], isLiteral }))
  return { expected: shownList(expected), seen: shown(seen), hint: missed, detail }
}

type Comparison = {
  readonly expected: readonly unknown[]
  readonly seen: unknown
  readonly detail?: string
  readonly isLiteral?: boolean
  /** Where comparing tells nothing. */
  readonly hint?: Hint
}

type Compare = (facts: Facts, refused: Refusal | undefined, index: number) => Comparison

const nothing: Comparison = { expected: [], seen: null }
const own = (claims: StrictObject | undefined, name: string): unknown =>
  claims !== undefined && Object.hasOwn(claims, name) ? claims[name] : undefined
const unless = (text: string): string[] => (text === '' ? [] : [text])

const comparisons: Readonly<Record<CheckName | 'policies', Compare>> = {
  config: () => nothing,
  role: ({ role, roleName }, refused) => {
    if (role === undefined) return { expected: [], seen: roleName }
    return refused === undefined
      ? { expected: ['jwt'], seen: role.record.role_type }
      : { expected: ['jwt'], seen: role.record.role_type, detail: 'role_type', hint: '' }
  },
  token: () => nothing,
  address: ({ role, remoteAddress }) => ({ expected: role?.record.token_bound_cidrs ?? [], seen: remoteAddress, hint: '' }),
  signature: ({ ready, keyId, algorithm }) => ({ expected: keyIdsOf(ready), seen: keyId, detail: algorithm }),
  algorithm: ({ ready, algorithm }) => {
    const accepted = ready?.config.jwt_supported_algs ?? []
    return { expected: accepted.length > 0 ? accepted : supportedAlgorithms, seen: algorithm, detail: 'alg' }
  },
  claims: ({ claims }, refused) => (refused === undefined ? nothing : wrongType(claims)),
  issuer: ({ ready, claims }) => ({ expected: unless(ready?.config.bound_issuer ?? ''), seen: own(claims, 'iss'), detail: 'iss' }),
  subject: ({ role, claims }) => ({ expected: unless(role?.record.bound_subject ?? ''), seen: own(claims, 'sub'), detail: 'sub' }),
  audience: ({ role, claims }) => {
    const audience = own(claims, 'aud') ?? []
    return { expected: role?.record.bound_audiences ?? [], seen: Array.isArray(audience) ? audience : [audience], detail: 'aud' }
  },
  times: (facts, refused) => timesOf(facts, refused),
  user_claim: ({ role, claims }) => {
    const { user_claim: name = '', user_claim_json_pointer: isPointer = false } = role?.record ?? {}
    const seen = isPointer && claims !== undefined ? lookupClaim(claims, name) : own(claims, name)
    return { expected: [], seen, detail: name, hint: nameHint(claims, name, seen) }
  },
  provider: ({ ready }) => ({ expected: [], seen: own(plain(ready?.config.provider_config), 'provider') }),
  metadata: ({ role, claims }) => {
    const mapped = Object.keys(role?.record.claim_mappings ?? {})
    const wrong = mapped.find((claim) => typeof (valueAt(claims, claim) ?? '') !== 'string')
    return { expected: [], seen: wrong === undefined ? null : valueAt(claims, wrong), detail: wrong ?? '', hint: 'differs_in_type' }
  },
  groups: ({ role, claims }) => {
    const name = role?.record.groups_claim ?? ''
    const seen = name === '' ? undefined : valueAt(claims, name)
    return { expected: [], seen, detail: name, hint: nameHint(claims, name, seen) }
  },
  bound_claims: ({ role, claims }, _refused, index) => {
    const { name = '', type = 'string' } = role?.boundClaims[index] ?? {}
    const value = role?.record.bound_claims?.[name]
    const seen = valueAt(claims, name)
    const compared = { expected: Array.isArray(value) ? value : [value], seen, detail: name, isLiteral: type === 'string' }
    return seen === undefined ? { ...compared, hint: (claims !== undefined && nameHint(claims, name, seen)) || '' } : compared
  },
  policies: ({ role }) => ({ expected: [], seen: role?.record.token_policies ?? [] }),
  // those of the browser flow are not explained
  redirect_uri: () => nothing,
  state: () => nothing,
  client_nonce: () => nothing,
  code: () => nothing,
  exchange: () => nothing,
  nonce: () => nothing,
  confirmation: () => nothing,
}

const valueAt = (claims: StrictObject | undefined, name: string): unknown => (claims === undefined ? undefined : lookupClaim(claims, name))

/** A value that is there has the wrong type; one that is not may stand under a name that is nearly this. */
function nameHint(claims: StrictObject | undefined, name: string, seen: unknown): Hint {
  if (seen !== undefined && seen !== null) return 'differs_in_type'
  return nearMiss({ expected: [name], seen: Object.keys(claims ?? {}), isLiteral: false })
}

/** An object of our own records, as one whose members may be asked for. */
const plain = (record: object | null | undefined): StrictObject => ({ ...record })

const keyIdsOf = (ready: ReadyConfig | undefined): string[] =>
  (ready?.keyset.sources() ?? []).flatMap(({ keys }) => keys.flatMap(({ id }) => unless(id)))

const typesWanted: Readonly<Record<string, (value: unknown) => boolean>> = {
  ...Object.fromEntries(['iss', 'sub', 'jti'].map((name) => [name, (value: unknown) => typeof (value ?? '') === 'string'])),
  ...Object.fromEntries(['exp', 'nbf', 'iat'].map((name) => [name, (value: unknown) => ['number', 'bigint'].includes(typeof (value ?? 0))])),
}

/** The first registered claim that is not of its type. */
function wrongType(claims: StrictObject | undefined): Comparison {
  if (claims === undefined) return nothing
  const name = Object.keys(typesWanted).find((claim) => typesWanted[claim]?.(own(claims, claim)) === false) ?? 'aud'
  return { expected: [], seen: own(claims, name), detail: name, hint: 'differs_in_type' }
}

/** The claim that decided. */
const timeClaimOf: Readonly<Record<string, string>> = { expired: 'exp', not_yet_valid: 'nbf', issued_in_future: 'iat' }

/** Times as a person reads them. The other clock counts as the cause if by it the token were in time. */
function timesOf(facts: Facts, refused: Refusal | undefined): Comparison {
  const { claims, nowMs } = facts
  const times = ['iat', 'nbf', 'exp'].flatMap((name) => {
    const seconds = own(claims, name)
    return typeof seconds === 'number' ? [`${name} ${timeText(seconds)}`] : []
  })
  const claim = timeClaimOf[refused?.reason ?? ''] ?? ''
  return { expected: [`now ${timeText(nowMs / 1000)}`], seen: times, detail: claim, hint: isInTimeElsewhere(facts) ? 'clock_offset' : '' }
}

function isInTimeElsewhere({ ready, role, claims, nowMs, offset }: Facts): boolean {
  if (ready === undefined || role === undefined || claims === undefined || offset === undefined || offset.seconds === 0) return false
  let isInTime = false
  checkToken(claims, tokenRules(role, ready.config), nowMs + offset.seconds * 1000, (name, refused) => {
    if (name === 'times') isInTime = refused === undefined
  })
  return isInTime
}

const latestTime = 253_402_300_799
const timeText = (seconds: number): string => (Math.abs(seconds) > latestTime ? String(seconds) : formatTime(Math.trunc(seconds) * 1000))
