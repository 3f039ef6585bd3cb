import { checkToken } from '../../../jwt/checks/claims.ts'
import { supportedAlgorithms } from '../../../jwt/jws/algorithms.ts'
import { isPlainObject, ownMember, type StrictObject } from '../../../jwt/jws/strict-json.ts'
import type { JsonValue } from '../../../lib/text/json.ts'
import { lookupClaim } from '../../../lib/text/json-pointer.ts'
import { formatTime } from '../../../lib/text/time.ts'
import { type Hint, nearMiss } from '../../../logins/refusals/hints.ts'
import { redactUrl } from '../../../logins/refusals/redact.ts'
import type { CheckName, Compared, Refusal } from '../../../logins/refusals/refusal.ts'
import type { ReadyConfig } from '../config/mount-state.ts'
import { providerName } from '../config/provider-config.ts'
import { claimNames, type Facts } from '../login/facts.ts'
import { tokenRules } from '../login/login.ts'
import { areElsewhere } from '../login/provider-hooks.ts'
import { describeFlow } from './describe-flow.ts'
import { shown, shownList } from './shown.ts'

/** What a check expected and what it saw. */
export type Description = {
  readonly expected: readonly JsonValue[]
  readonly seen: JsonValue
  readonly hint: Hint
  readonly detail: string
}

/**
 * A check as it ran. `refused` is undefined if it passed or did not run; `compared` is undefined if the check
 * does not say what it compared.
 */
export type CheckResult = { readonly refused: Refusal | undefined; readonly compared?: Compared | undefined }

/** `index` is the position in `bound_claims`. */
export function describe(
  name: CheckName | 'policies',
  facts: Facts,
  made: CheckResult,
  index: number,
): Description {
  const { refused } = made
  const {
    expected,
    seen,
    detail = '',
    isLiteral = true,
    isLong = false,
    hint,
  } = comparedBy(name, facts, made, index)
  const missed =
    refused === undefined
      ? ''
      : (hint ?? nearMiss({ expected, seen: Array.isArray(seen) ? seen : [seen], isLiteral }))
  const longest = isLong ? longestOfProvider : undefined
  return {
    expected: shownList(expected),
    seen: shown(seen, longest),
    hint: missed,
    detail: detail.slice(0, longestDetail),
  }
}

/** A provider's text is only useful if it is not cut in the middle. */
const longestOfProvider = 1024
const longestDetail = 256

function comparedBy(
  name: CheckName | 'policies',
  facts: Facts,
  { refused, compared }: CheckResult,
  index: number,
): Compared {
  const known =
    refused?.compared ?? compared ?? (facts.isFlow === true ? describeFlow(name, facts, refused) : undefined)
  if (known !== undefined) return known
  const usual =
    refused?.reason === 'keys_unavailable'
      ? { expected: keyUrlsOf(facts.ready), seen: null }
      : (comparisons[name]?.(facts, refused, index) ?? nothing)
  // another server's response, or why there was none
  return refused?.cause === undefined ? usual : { ...usual, seen: refused.cause, isLong: true, hint: '' }
}

type Compare = (facts: Facts, refused: Refusal | undefined, index: number) => Compared

const nothing: Compared = { expected: [], seen: null }
const unless = (text: string): string[] => (text === '' ? [] : [text])

/** Checks of the browser flow say themselves what they compare. */
const comparisons: Readonly<Partial<Record<CheckName | 'policies', Compare>>> = {
  role: ({ role, roleName, roleNames }, refused) => {
    if (role === undefined) return { expected: roleNames, seen: roleName, isLiteral: false }
    return refused === undefined
      ? { expected: ['jwt'], seen: role.record.role_type }
      : { expected: ['jwt'], seen: role.record.role_type, detail: 'role_type', hint: '' }
  },
  address: ({ role, remoteAddress }) => ({
    expected: role?.record.token_bound_cidrs ?? [],
    seen: remoteAddress,
    hint: '',
  }),
  signature: ({ ready, keyId, algorithm, isFlow }, refused) => {
    if (refused?.reason === 'algorithm_unsupported') {
      const accepted = ready?.config.jwt_supported_algs ?? []
      const usual = isFlow === true ? ['RS256'] : supportedAlgorithms
      return { expected: accepted.length > 0 ? accepted : usual, seen: algorithm, detail: 'alg', hint: '' }
    }
    if (refused?.reason === 'key_not_allowed')
      return {
        expected: ready?.config.allowed_key_thumbprints ?? [],
        seen: null,
        detail: 'allowed_key_thumbprints',
      }
    return { expected: keyIdsOf(ready), seen: keyId, detail: algorithm }
  },
  algorithm: ({ ready, algorithm }) => {
    const accepted = ready?.config.jwt_supported_algs ?? []
    return { expected: accepted.length > 0 ? accepted : supportedAlgorithms, seen: algorithm, detail: 'alg' }
  },
  claims: ({ claims }, refused) => (refused === undefined ? nothing : wrongType(claims)),
  issuer: ({ ready, claims }) => ({
    expected: unless(ready?.config.bound_issuer ?? ''),
    seen: ownMember(claims, 'iss'),
    detail: 'iss',
  }),
  subject: ({ role, claims }) => ({
    expected: unless(role?.record.bound_subject ?? ''),
    seen: ownMember(claims, 'sub'),
    detail: 'sub',
  }),
  audience: ({ role, claims }) => {
    const audience = ownMember(claims, 'aud') ?? []
    return {
      expected: role?.record.bound_audiences ?? [],
      seen: Array.isArray(audience) ? audience : [audience],
      detail: 'aud',
    }
  },
  times: timesOf,
  user_claim: ({ role, claims }, refused) => {
    const { user_claim: name = '', user_claim_json_pointer: isPointer = false } = role?.record ?? {}
    const seen = isPointer && claims !== undefined ? lookupClaim(claims, name) : ownMember(claims, name)
    if (isMissing(seen, claims)) return missing(claims, name)
    return {
      expected: refused === undefined ? [] : ['a text'],
      seen,
      detail: name,
      hint: nameHint(claims, name, seen),
    }
  },
  provider: ({ ready }) => ({
    expected: [],
    seen: ownMember(plain(ready?.config.provider_config), 'provider'),
  }),
  metadata: ({ role, claims }) => {
    const { claim_mappings: mappings, claim_mappings_text_only: isTextOnly = false } = role?.record ?? {}
    const mapped = isTextOnly ? Object.keys(mappings ?? {}) : []
    const wrong = mapped.find((claim) => typeof (valueAt(claims, claim) ?? '') !== 'string')
    return {
      expected: wrong === undefined ? [] : ['a text'],
      seen: wrong === undefined ? null : valueAt(claims, wrong),
      detail: wrong ?? '',
      hint: 'differs_in_type',
    }
  },
  groups: ({ ready, role, claims }, refused) => {
    const name = role?.record.groups_claim ?? ''
    const seen = name === '' ? undefined : valueAt(claims, name)
    if (name !== '' && isMissing(seen, claims)) return missingGroups(ready, claims, name)
    return {
      expected: refused === undefined ? [] : ['a list of texts'],
      seen,
      detail: name,
      hint: nameHint(claims, name, seen),
    }
  },
  bound_claims: ({ role, claims }, _refused, index) => {
    const { name = '', type = 'string' } = role?.boundClaims[index] ?? {}
    const value = role?.record.bound_claims?.[name]
    const seen = valueAt(claims, name)
    const compared = {
      expected: Array.isArray(value) ? value : [value],
      seen,
      detail: name,
      isLiteral: type === 'string',
    }
    if (seen !== undefined || claims === undefined)
      return { ...compared, ...(seen === undefined ? { hint: '' } : {}) }
    return { ...compared, ...missing(claims, name), expected: compared.expected }
  },
  policies: ({ role }, refused) => ({
    expected: refused === undefined ? [] : ['claims that are texts, whole numbers or bools'],
    seen: role?.record.token_policies ?? [],
    detail: refused?.text ?? '',
  }),
}

const valueAt = (claims: StrictObject | undefined, name: string): unknown =>
  claims === undefined ? undefined : lookupClaim(claims, name)

/**
 * A value that is present has the wrong type; one that is missing may be inside another, or have nearly this
 * name.
 */
function nameHint(claims: StrictObject | undefined, name: string, seen: unknown): Hint {
  if (seen !== undefined && seen !== null) return 'differs_in_type'
  if (claims !== undefined && pathsLike(name).some((path) => lookupClaim(claims, path) !== undefined))
    return 'write_as_json_pointer'
  return nearMiss({ expected: [name], seen: claimNames(claims), isLiteral: false })
}

/**
 * JSON pointers that `job/env` and `job.env` may stand for; if a name is not read as a pointer, also
 * `/job/env`.
 */
export function pathsLike(name: string): string[] {
  if (name === '') return []
  if (name.startsWith('/')) return [name]
  return name.includes('/') || !name.includes('.')
    ? [`/${name}`]
    : [`/${name}`, `/${name.replaceAll('.', '/')}`]
}

const isMissing = (seen: unknown, claims: StrictObject | undefined): boolean =>
  claims !== undefined && (seen === undefined || seen === null)

/** For a missing claim: what is there instead. */
const missing = (claims: StrictObject | undefined, name: string): Compared => ({
  expected: [name],
  seen: claimNames(claims),
  detail: `${name}${whereElse(claims ?? {}, name)}`,
  hint: nameHint(claims, name, undefined),
})

/**
 * Entra ID omits groups that are too many for a token, and says so. If the mount knows how to fetch them, the
 * refusal says why that failed.
 */
function missingGroups(
  ready: ReadyConfig | undefined,
  claims: StrictObject | undefined,
  name: string,
): Compared {
  const compared = missing(claims, name)
  const isAzure = providerName(ready?.config.provider_config ?? null) === 'azure'
  if (claims === undefined || isAzure || !areElsewhere(claims, name)) return compared
  return {
    ...compared,
    detail: `${name}; too many for the token (_claim_names, hasgroups): set provider_config of azure`,
  }
}

/** Where a misplaced claim is: at another server, or deep in another claim. */
function whereElse(claims: StrictObject, name: string): string {
  if (lookupClaim(claims, `/_claim_names/${name}`) !== undefined) return '; it is elsewhere (_claim_names)'
  const path = pathTo(claims, name.split(/[./]/).at(-1) ?? '')
  return path === undefined || pathsLike(name).includes(path) ? '' : `${insteadAt}${path}`
}

const insteadAt = '; there is one at '

/** The JSON pointer that the detail of a check names, for a claim that is inside another one. */
export function insteadOf(detail: string): string | undefined {
  const at = detail.indexOf(insteadAt)
  return at < 0 || detail.length === longestDetail ? undefined : detail.slice(at + insteadAt.length)
}

const maxDepth = 4
const maxSearched = 200

/** The JSON pointer to the nearest member of this name inside other claims. */
function pathTo(claims: StrictObject, name: string): string | undefined {
  const paths = pathsByClaims.get(claims) ?? innerPaths(claims)
  pathsByClaims.set(claims, paths)
  return paths.get(name)
}

/** One traversal of the claims looks for many names. */
const pathsByClaims = new WeakMap<StrictObject, ReadonlyMap<string, string>>()

function innerPaths(claims: StrictObject): ReadonlyMap<string, string> {
  const paths = new Map<string, string>()
  let level: readonly Place[] = Object.keys(claims).flatMap((key) =>
    isPlainObject(claims[key]) ? [{ steps: [key], value: claims[key] }] : [],
  )
  for (let depth = 1; depth < maxDepth; depth++) {
    level = level.slice(0, maxSearched).flatMap(membersOf).slice(0, maxSearched)
    for (const { steps } of level) {
      const name = steps.at(-1) ?? ''
      if (!paths.has(name)) paths.set(name, steps.map((step) => `/${escapedStep(step)}`).join(''))
    }
  }
  return paths
}

type Place = { readonly steps: readonly string[]; readonly value: unknown }

const membersOf = ({ steps, value }: Place): Place[] =>
  isPlainObject(value)
    ? Object.entries(value).map(([key, inner]) => ({ steps: [...steps, key], value: inner }))
    : []

/** RFC 6901 §3. */
const escapedStep = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')

/** One of our own records as an object with arbitrary members. */
const plain = (record: object | null | undefined): StrictObject => ({ ...record })

/** The URL that the keys should have come from. */
const keyUrlsOf = (ready: ReadyConfig | undefined): string[] =>
  (ready?.keyset.sources() ?? []).flatMap(({ url }) => unless(redactUrl(url)))

const keyIdsOf = (ready: ReadyConfig | undefined): string[] =>
  (ready?.keyset.sources() ?? []).flatMap(({ keys }) => keys.flatMap(({ id }) => unless(id)))

const isText = (value: unknown): boolean => typeof (value ?? '') === 'string'
const isNumber = (value: unknown): boolean => ['number', 'bigint'].includes(typeof (value ?? 0))
const registered: readonly (readonly [claim: string, fits: (value: unknown) => boolean, type: string])[] = [
  ...['iss', 'sub', 'jti'].map((claim) => [claim, isText, 'a text'] as const),
  ...['exp', 'nbf', 'iat'].map((claim) => [claim, isNumber, 'a number'] as const),
]

/** The first registered claim with the wrong type. */
function wrongType(claims: StrictObject | undefined): Compared {
  if (claims === undefined) return nothing
  const [name, , type] = registered.find(([claim, fits]) => !fits(ownMember(claims, claim))) ?? [
    'aud',
    undefined,
    'a text or a list of texts',
  ]
  return { expected: [type], seen: ownMember(claims, name), detail: name, hint: 'differs_in_type' }
}

/** The claim that decided. */
const timeClaimOf: Readonly<Record<string, string>> = {
  expired: 'exp',
  not_yet_valid: 'nbf',
  issued_in_future: 'iat',
}

/** Times in readable form. The other clock counts as the cause if the token would be in time by it. */
function timesOf(facts: Facts, refused: Refusal | undefined): Compared {
  const { claims, nowMs } = facts
  const times = ['iat', 'nbf', 'exp'].flatMap((name) => {
    const seconds = ownMember(claims, name)
    return typeof seconds === 'number' ? [`${name} ${timeText(seconds)}`] : []
  })
  const claim = timeClaimOf[refused?.reason ?? ''] ?? ''
  const hint = isInTimeElsewhere(facts) ? 'clock_offset' : ''
  return { expected: [`now ${timeText(nowMs / 1000)}`], seen: times, detail: claim, hint }
}

function isInTimeElsewhere({ ready, role, claims, nowMs, offset }: Facts): boolean {
  if (ready === undefined || role === undefined || claims === undefined) return false
  if (offset?.isCertain !== true || offset.seconds === 0) return false
  let isInTime = false
  checkToken(claims, tokenRules(role, ready.config), nowMs + offset.seconds * 1000, (name, refused) => {
    if (name === 'times') isInTime = refused === undefined
  })
  return isInTime
}

const latestTime = 253_402_300_799
const timeText = (seconds: number): string =>
  Math.abs(seconds) > latestTime ? String(seconds) : formatTime(Math.trunc(seconds) * 1000)
