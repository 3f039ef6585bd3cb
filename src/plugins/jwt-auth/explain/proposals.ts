import { wrappingPolicy } from '../../../core/tokens/store/token.ts'
import { isSupportedAlgorithm } from '../../../jwt/jws/algorithms.ts'
import { isJsonNumber, type JsonValue } from '../../../lib/text/json.ts'
import type { ExplainedCheck, Proposal } from '../../../logins/explain/explained.ts'
import {
  type Fixes,
  isSame,
  isWhole,
  listOf,
  oneOf,
  proposalFor,
  withOne,
} from '../../../logins/explain/proposing.ts'
import { nearMiss } from '../../../logins/refusals/hints.ts'
import type { Role, RoleRecord } from '../config/role.ts'
import { insteadOf, pathsLike } from './describe.ts'

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
  const isBrowser = path?.startsWith('oidc/') === true
  const failed = checks
    .filter(({ verdict }) => verdict === 'fail')
    .filter((check) => !isBrowser || ofBrowsers.has(check.reason) || isOfRole(check, role))
  const ofConfig = isBrowser ? [] : failed.flatMap(configFix)
  return [
    ...(ofConfig.length === 0 ? [] : [{ path: 'config', fields: Object.assign({}, ...ofConfig) }]),
    ...proposalFor(`role/${role.name}`, role.record, { failed, fixes }),
  ]
}

/** An issuer that nearly matches, or an algorithm that the configuration leaves out. */
function configFix({ reason, hint, expected, seen }: ExplainedCheck): object[] {
  if (reason === 'issuer_mismatch' && hint !== '' && isWhole(seen)) return [{ bound_issuer: seen }]
  if (reason === 'algorithm_not_allowed' && typeof seen === 'string' && isSupportedAlgorithm(seen))
    return [{ jwt_supported_algs: withOne<JsonValue>(expected, seen) }]
  return []
}

/** Whether the audiences of the role refused a browser login, and not the client of the mount. */
const isOfRole = (
  { reason, expected }: ExplainedCheck,
  { record: { bound_audiences = [] } }: Role,
): boolean =>
  reason === 'audience_mismatch' && bound_audiences.length > 0 && isSame(expected, bound_audiences)

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
  'groups_invalid',
  'subject_mismatch',
])

const fixes: Fixes<RoleRecord> = {
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
  // as an explanation shows an object
  groups_invalid: ({ seen }, { groups_claim_type: type }) =>
    type !== 'object_keys' && typeof seen === 'string' && seen.startsWith('map[')
      ? { groups_claim_type: 'object_keys' }
      : none,
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
  // those of the person and of groups are no fields of the role
  policy_forbidden: (_check, { token_policies: policies = [] }) => ({
    token_policies: policies.filter((name) => name !== 'root' && name !== wrappingPolicy),
  }),
  uses_need_service: () => ({ token_num_uses: 0, token_period: 0 }),
}

function withAudience({ expected, seen }: ExplainedCheck, { bound_audiences }: RoleRecord): Fix {
  const audience = oneOf(expected, seen)
  return typeof audience === 'string' ? { bound_audiences: withOne(bound_audiences ?? [], audience) } : none
}

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
