import { isJsonNumber, type JsonValue, numberText, stringifyJson } from '../../../lib/text/json.ts'
import type { ExplainedCheck, Proposal } from '../../../logins/explain/explained.ts'
import { nearMiss } from '../../../logins/refusals/hints.ts'
import type { Role, RoleRecord } from '../config/role.ts'
import { insteadOf, pathsLike } from './describe.ts'
import { isWhole } from './shown.ts'

type Refused = {
  readonly checks: readonly ExplainedCheck[]
  /** The path that refused; absent for a login that is only tried. */
  readonly path?: string | undefined
  /** The role that the login named, as it is now. */
  readonly role: Role | undefined
}

/**
 * Changes after which the checks that refused would pass, with values of the token. A value that nobody vouches for
 * is not proposed. docs/explain.md#what-to-change
 */
export function proposalsOf({ checks, path, role }: Refused): Proposal[] {
  if (role === undefined || path === 'cel/login' || !isVouchedFor(checks, path === undefined)) return []
  const failed = checks.filter(({ verdict }) => verdict === 'fail')
  const isBrowser = path?.startsWith('oidc/') === true
  let fields = none
  for (const check of failed) {
    if (isBrowser && !ofBrowsers.has(check.reason)) continue
    fields = { ...fields, ...fixes[check.reason]?.(check, { ...role.record, ...fields }) }
  }
  // the role may have changed since
  const changed = Object.entries(fields).filter(([name, value]) => !isSame(value, { ...role.record }[name]))
  const issuer = failed.find(({ reason }) => reason === 'issuer_mismatch')
  const isMisspelled = !isBrowser && issuer !== undefined && issuer.hint !== '' && isWhole(issuer.seen)
  return [
    ...(isMisspelled ? [{ path: 'config', fields: { bound_issuer: issuer.seen } }] : []),
    ...(changed.length === 0 ? [] : [{ path: `role/${role.name}`, fields: Object.fromEntries(changed) }]),
  ]
}

/** Whether the signature is valid, or the caller of `explain` has made the claims up. */
function isVouchedFor(checks: readonly ExplainedCheck[], isTried: boolean): boolean {
  const verdict = checks.find(({ name }) => name === 'signature')?.verdict
  const areMadeUp = isTried && checks.some((check) => check.name === 'token' && check.verdict === 'skipped')
  return verdict === 'pass' || (areMadeUp && verdict === 'skipped')
}

type Fix = Partial<RoleRecord>
const none: Fix = {}

/** Those whose check is the same in a browser login. */
const ofBrowsers: ReadonlySet<string> = new Set([
  'user_claim_missing',
  'groups_unavailable',
  'mapping_invalid',
  'bound_claim_mismatch',
  'bound_claim_missing',
])

const fixes: Readonly<Record<string, (check: ExplainedCheck, role: RoleRecord) => Fix>> = {
  role_type_refused: () => ({ role_type: 'jwt' }),
  address_not_bound: ({ seen }, { token_bound_cidrs = [] }) =>
    typeof seen === 'string' ? { token_bound_cidrs: withOne(token_bound_cidrs, seen) } : none,
  subject_mismatch: ({ seen }) => (isWhole(seen) ? { bound_subject: seen } : {}),
  audience_mismatch: withAudience,
  audience_unbound: withAudience,
  user_claim_missing: (check, { user_claim = '' }) => {
    const name = otherName(check, user_claim)
    if (name === undefined) return none
    return { user_claim: name, ...(name.startsWith('/') && { user_claim_json_pointer: true }) }
  },
  groups_unavailable: (check, { groups_claim = '' }) => {
    // where a directory was asked, `seen` is its answer, not the names of claims
    if (!check.detail.startsWith(groups_claim) || !Array.isArray(check.seen)) return none
    const name = otherName(check, groups_claim)
    return name === undefined ? { groups_claim_optional: true } : { groups_claim: name }
  },
  mapping_invalid: () => ({ claim_mappings_text_only: false }),
  bound_claim_mismatch: (check, { bound_claims, bound_claims_type: type }) => {
    const { detail: name, hint, expected, seen } = check
    const all = bound_claims ?? {}
    if (!Object.hasOwn(all, name)) return none
    if (
      hint === 'glob_in_string_mode' &&
      Object.values(all)
        .flat()
        .every((value) => typeof value === 'string')
    )
      return { bound_claims_type: 'glob' }
    const value = oneOf(expected, seen)
    const bound = listOf(all[name])
    const fits = type === 'glob' ? typeof value === 'string' && !value.includes('*') : !isInList(value, seen)
    if (value === undefined || !fits || bound.some((one) => isSame(one, value))) return none
    return { bound_claims: { ...all, [name]: [...bound, value] } }
  },
  bound_claim_missing: (check, { bound_claims }) => {
    const all = bound_claims ?? {}
    const name = Object.keys(all).find((one) => check.detail === one || check.detail.startsWith(`${one}; `))
    const other = name === undefined ? undefined : otherName(check, name)
    if (name === undefined || other === undefined || Object.hasOwn(all, other)) return none
    return {
      bound_claims: Object.fromEntries(
        Object.entries(all).map(([one, value]) => [one === name ? other : one, value]),
      ),
    }
  },
  uses_need_service: () => ({ token_num_uses: 0, token_period: 0 }),
}

function withAudience({ expected, seen }: ExplainedCheck, { bound_audiences }: RoleRecord): Fix {
  const audience = oneOf(expected, seen)
  return typeof audience === 'string' ? { bound_audiences: withOne(bound_audiences ?? [], audience) } : none
}

const isSame = (one: unknown, other: unknown): boolean =>
  stringifyJson(one ?? null) === stringifyJson(other ?? null)

const withOne = <Value>(values: readonly Value[], one: Value): Value[] =>
  values.some((value) => isSame(value, one)) ? [...values] : [...values, one]

const listOf = (value: JsonValue | undefined): readonly JsonValue[] =>
  Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]

/** The value of the token that was probably meant: the only one, or one that is nearly an expected one. */
function oneOf(expected: readonly JsonValue[], seen: JsonValue): JsonValue | undefined {
  const values = listOf(seen).filter(isComparable)
  const near = values.find((value) => nearMiss({ expected, seen: [value], isLiteral: true }) !== '')
  return near ?? (values.length === 1 ? values[0] : undefined)
}

const isComparable = (value: JsonValue): boolean =>
  isWhole(value) || typeof value === 'boolean' || (isJsonNumber(value) && /^-?\d+$/.test(numberText(value)))

/** A number inside a list matches nothing. */
const isInList = (value: JsonValue | undefined, seen: JsonValue): boolean =>
  Array.isArray(seen) && isJsonNumber(value)

/** The name under which a missing claim is there. */
function otherName({ seen, hint, detail }: ExplainedCheck, name: string): string | undefined {
  if (hint === 'write_as_json_pointer') return pathsLike(name).at(-1)
  const near = listOf(seen).find(
    (one) => nearMiss({ expected: [name], seen: [one], isLiteral: false }) !== '',
  )
  return typeof near === 'string' && isWhole(near) ? near : insteadOf(detail)
}
