import { usesFindings } from '../../../core/tokens/store/token-type.ts'
import { pinFindings } from '../../../jwt/keys/pins.ts'
import { isNear } from '../../../lib/text/edit-distance.ts'
import { excerpt, quoted } from '../../../lib/text/go-text.ts'
import { isJsonNumber, type JsonValue, numberText } from '../../../lib/text/json.ts'
import { policiesMissing } from '../../../logins/explain/policies-missing.ts'
import { type Config, hasOidcClient } from '../config/jwt-config.ts'
import type { ReadyConfig } from '../config/mount-state.ts'
import { type Role, type RoleRecord, roleFields } from '../config/role.ts'
import { type KnownIssuer, knownIssuer } from './issuers.ts'
import { beginsWithOwner, leavesOwnerOpen, namesOwner } from './owner-claims.ts'

export const withoutAudience =
  'the mount accepts JWTs as tokens, but refuses them for this role: set bound_audiences'

/** Stable words; each is explained in docs/explain.md#what-the-linter-says */
export const lintCodes = [
  'no_audience',
  'token_without_audience',
  'token_used_once',
  'pin_without_key',
  'no_issuer',
  'wildcard_owner',
  'mutable_user_claim',
  'unbounded_alias',
  'email_unverified',
  'multi_tenant_issuer',
  'kept_values',
  'redirect_never_matches',
  'glob_in_string_mode',
  'number_never_matches',
  'policy_missing',
  'claim_names_policy',
  'no_effect',
  'uses_without_effect',
  'unknown_field',
  'cel_invalid_program',
  'cel_no_audience',
  'cel_no_issuer',
  'cel_no_alias',
  'cel_always_allows',
  'cel_unknown_function',
  'cel_unused_variable',
  'cel_duplicate_variable',
  'cel_small_ttl',
  'cel_no_effect',
] as const

type LintCode = (typeof lintCodes)[number]

/** A role setting that is valid but probably not intended. */
export type Finding = {
  readonly role: string
  readonly code: LintCode
  readonly field: string
  readonly text: string
}

export type LintContext = {
  /** Undefined until the mount is configured. */
  readonly config: Config | undefined
  /** Of the mount; undefined if it is told elsewhere what that means for the role. */
  readonly tokenType: string | undefined
  /** Whether a policy of this name exists for the tokens of the mount. */
  policyExists(name: string): Promise<boolean>
}

type Found = Pick<Finding, 'code' | 'field' | 'text'>
type Rule = (record: RoleRecord, config: Config | undefined) => Found[]

/** The findings about a role as it is stored. */
export async function lintRole(
  { name, record }: Role,
  { config, tokenType, policyExists }: LintContext,
): Promise<Finding[]> {
  const found = [
    ...rules.flatMap((rule) => rule(record, config)),
    ...usesFindings(tokenType, record),
    ...(await missingPolicies(record, policyExists)),
  ]
  return found.map((one) => ({ role: name, ...one }))
}

/** The findings about the configuration itself, which are those of no role. Fetches keys that are not known yet. */
export const lintConfig = ({ config, keyset }: ReadyConfig): Promise<Finding[]> =>
  pinFindings(config.allowed_key_thumbprints, keyset)

/** The findings that depend on the write itself: which values it kept, and which names it did not know. */
export function lintWrite(
  name: string,
  write: { before: RoleRecord | undefined; sent: RoleRecord; unknown: readonly string[] },
): Finding[] {
  const { before = {}, sent, unknown } = write
  const kept = Object.entries(before).filter(
    ([field, value]) => !resetByEachWrite.has(field) && !Object.hasOwn(sent, field) && !isUnset(value),
  )
  const keptNames = kept.map(([field]) => field)
  return [
    ...when(kept.length > 0, namesFinding('kept_values', keptNames, 'keep values of an earlier write')),
    ...when(unknown.length > 0, unknownFields(unknown)),
  ].map((one) => ({ role: name, ...one }))
}

/** Names that are not fields of a role, with suggestions. */
function unknownFields(unknown: readonly string[]): Found {
  const finding = namesFinding('unknown_field', unknown, 'are not fields of a role')
  const meant = unknown.slice(0, maxSuggested).flatMap((name) => {
    const field = nearestField(name)
    return field === undefined ? [] : [`; ${excerpt(name, 64)}: did you mean ${quoted(field)}?`]
  })
  return { ...finding, text: finding.text + meant.join('') }
}

const maxSuggested = 8
const withoutMarks = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '')
const fieldNames: readonly string[] = Object.keys(roleFields.shape)

/**
 * The field with the fewest wrong letters, or one whose name ends with this text; by its new name if it has
 * two.
 */
function nearestField(name: string): string | undefined {
  const written = withoutMarks(name)
  const most = written.length < 5 ? 1 : written.length < 6 ? 2 : 3
  for (let wrong = 0; wrong <= most; wrong++) {
    const near = fieldNames.find((field) => isNear(withoutMarks(field), written, wrong))
    if (near !== undefined) return newNameOf(near)
  }
  return written.length < 5 ? undefined : fieldNames.find((field) => withoutMarks(field).endsWith(written))
}

const newNameOf = (field: string): string =>
  fieldNames.includes(`token_${field}`) ? `token_${field}` : field

const namesFinding = (code: LintCode, names: readonly string[], what: string): Found => ({
  code,
  field: excerpt(names[0] ?? ''),
  text: `[${excerpt([...names].sort().join(' '))}] ${what}`,
})

const when = (isFound: boolean, found: Found): Found[] => (isFound ? [found] : [])

const resetByEachWrite: ReadonlySet<string> = new Set([
  'role_type',
  'bound_claims_type',
  'callback_mode',
  'oidc_disable_confirmation',
])

const isUnset = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  value === 0 ||
  value === false ||
  (typeof value === 'object' && Object.keys(value).length === 0)

const isJwt = ({ role_type }: RoleRecord): boolean => role_type === 'jwt'
const isGlob = ({ bound_claims_type }: RoleRecord): boolean => bound_claims_type === 'glob'

/** The name of a top-level claim, whether written as a name or a pointer. */
const topLevel = (claim: string): string =>
  /^\/[^/]*$/.test(claim) ? claim.slice(1).replaceAll('~1', '/').replaceAll('~0', '~') : claim

/** The values of each bound claim, as a list. */
const boundValues = ({ bound_claims }: RoleRecord): [claim: string, values: readonly JsonValue[]][] =>
  Object.entries(bound_claims ?? {}).map(([claim, value]) => [claim, Array.isArray(value) ? value : [value]])

const boundNames = (record: RoleRecord): Set<string> =>
  new Set(boundValues(record).map(([claim]) => topLevel(claim)))

const rules: readonly Rule[] = [
  (record) =>
    when(isJwt(record) && (record.bound_audiences ?? []).length === 0, {
      code: 'no_audience',
      field: 'bound_audiences',
      text: 'any token of the issuer without `aud` is accepted; set bound_audiences',
    }),
  (record, config) =>
    when(config?.accept_as_token === true && isJwt(record) && (record.bound_audiences ?? []).length === 0, {
      code: 'token_without_audience',
      field: 'bound_audiences',
      text: withoutAudience,
    }),
  (record, config) =>
    when(config?.accept_as_token === true && record.token_replay_protection === true, {
      code: 'token_used_once',
      field: 'token_replay_protection',
      text: 'the mount accepts JWTs as tokens, but refuses them for this role: one request would use them up',
    }),
  (record, config) =>
    when(isJwt(record) && config?.bound_issuer === '' && !boundNames(record).has('iss'), {
      code: 'no_issuer',
      field: 'bound_issuer',
      text: 'neither bound_issuer nor a bound `iss` ties tokens to one issuer',
    }),
  (record) =>
    isGlob(record) ? boundValues(record).flatMap((entry) => wildcardOwners(entry, bindsOwner(record))) : [],
  (record, config) =>
    when(changingClaims.has(topLevel(record.user_claim ?? '')), changingUser(record, config)),
  ({ user_claim = '' }) =>
    when(claimsOfOneRun.has(topLevel(user_claim)), {
      code: 'unbounded_alias',
      field: 'user_claim',
      text: `user_claim ${quoted(user_claim)} differs with each run; every login makes an entity`,
    }),
  (record, config) =>
    when(decidesByEmail(record) && !bindsVerifiedEmail(record), emailUnverified(record, config)),
  multiTenant,
  (record, config) => (record.allowed_redirect_uris ?? []).flatMap((uri) => deadRedirect(uri, config)),
  (record) => (isGlob(record) ? [] : boundValues(record).flatMap(literalStars)),
  (record) => boundValues(record).flatMap(fractions),
  withoutEffect,
  ({ token_policies = [], token_policies_template_claims: areTemplates = false }) => {
    const open = areTemplates ? token_policies.find((name) => name.trim().startsWith('{{')) : undefined
    const text = `a claim names the whole policy in ${quoted(open ?? '')}: the issuer can choose any policy; put a prefix in front`
    return when(open !== undefined, { code: 'claim_names_policy', field: 'token_policies', text })
  },
]

/** A `*` in a longer name is harmless if another entry binds a single owner. */
const bindsOwner = (record: RoleRecord): boolean =>
  boundValues(record).some(
    ([claim, values]) =>
      namesOwner(topLevel(claim)) &&
      values.length > 0 &&
      values.every((value) => typeof value !== 'string' || !value.includes('*')),
  )

function wildcardOwners([claim, values]: [string, readonly JsonValue[]], isOwnerBound: boolean): Found[] {
  if (isOwnerBound && beginsWithOwner(topLevel(claim))) return []
  return values.flatMap((value) => {
    if (
      typeof value !== 'string' ||
      !value.includes('*') ||
      !leavesOwnerOpen(topLevel(claim), value.slice(0, value.indexOf('*')))
    )
      return []
    const text = `${excerpt(claim)} ${quoted(value)} has its first \`*\` before the organisation ends`
    return [{ code: 'wildcard_owner', field: `bound_claims.${excerpt(claim)}`, text } as const]
  })
}

const changingClaims: ReadonlySet<string> = new Set([
  'email',
  'name',
  'nickname',
  'preferred_username',
  'username',
  'upn',
  'unique_name',
  'login',
  'actor',
  'user_login',
  'user_email',
  'given_name',
  'family_name',
  'repository',
  'repository_owner',
  'project_path',
  'namespace_path',
  'ref',
  'phone_number',
])

/** They differ with each run of a job. */
export const claimsOfOneRun: ReadonlySet<string> = new Set([
  'jti',
  'nonce',
  'sid',
  'session_state',
  'iat',
  'exp',
  'nbf',
  'at_hash',
  'c_hash',
  'uti',
  'sha',
  'run_id',
  'run_number',
  'run_attempt',
  'job_id',
  'pipeline_id',
  'build_id',
  'build_number',
  'build_commit',
  'check_run_id',
  'terraform_run_id',
  'job_workflow_sha',
  'workflow_sha',
])

const decidesByEmail = (record: RoleRecord): boolean =>
  topLevel(record.user_claim ?? '') === 'email' || boundNames(record).has('email')

const bindsVerifiedEmail = (record: RoleRecord): boolean =>
  boundValues(record).some(
    ([claim, values]) =>
      topLevel(claim) === 'email_verified' &&
      values.length > 0 &&
      values.every((value) => value === true || value === 'true'),
  )

const emailUnverified = (record: RoleRecord, config: Config | undefined): Found => ({
  code: 'email_unverified',
  field: boundNames(record).has('email') ? 'bound_claims' : 'user_claim',
  text: issuersOf(record, config).some(({ known }) => known.lacksVerifiedEmail === true)
    ? 'email decides, but this issuer does not say whether an address is verified; decide by oid'
    : 'email decides, but email_verified is not bound to true',
})

/** The stable counterpart of each mutable claim. */
const stayingClaims: ReadonlyMap<string, string> = new Map([
  ...(['actor', 'repository', 'repository_owner'] as const).map((claim) => [claim, `${claim}_id`] as const),
  ...(['user_login', 'user_email'] as const).map((claim) => [claim, 'user_id'] as const),
  ...([
    ['project_path', 'project_id'],
    ['namespace_path', 'namespace_id'],
    ['upn', 'oid'],
    ['unique_name', 'oid'],
  ] as const),
])

function changingUser(record: RoleRecord, config: Config | undefined): Found {
  const { user_claim: name = '' } = record
  const better =
    stayingClaims.get(topLevel(name)) ?? issuersOf(record, config)[0]?.known.stable ?? 'sub or an id'
  return {
    code: 'mutable_user_claim',
    field: 'user_claim',
    text: `user_claim ${quoted(name)} can change or be reused; prefer ${better}`,
  }
}

type NamedIssuer = { readonly issuer: string; readonly known: KnownIssuer }

/** The well-known issuers whose tokens a role accepts, as far as configuration and role name them. */
function issuersOf(record: RoleRecord, config: Config | undefined): NamedIssuer[] {
  const bound = boundValues(record).flatMap(([claim, values]) => (topLevel(claim) === 'iss' ? values : []))
  const named = [config?.bound_issuer, config?.oidc_discovery_url, ...bound].filter(
    (issuer) => typeof issuer === 'string',
  )
  return [...new Set(named)].flatMap((issuer) => {
    const known = knownIssuer(issuer)
    return known === undefined ? [] : [{ issuer, known }]
  })
}

function multiTenant(record: RoleRecord, config: Config | undefined): Found[] {
  const bound = boundNames(record)
  if ((record.bound_subject ?? '') !== '') bound.add('sub')
  const shared = issuersOf(record, config).find(
    ({ known: { owners } }) => owners !== undefined && !owners.some((owner) => bound.has(owner)),
  )
  if (shared === undefined) return []
  const text = `${excerpt(shared.issuer)} serves many tenants; bind ${shared.known.bind ?? 'sub'}`
  return [{ code: 'multi_tenant_issuer', field: 'bound_claims', text }]
}

function deadRedirect(uri: string, config: Config | undefined): Found[] {
  const query = uri.split('#', 1)[0]?.split('?')[1] ?? ''
  const losesNamespace =
    config?.namespace_in_state === true && (new URLSearchParams(query).get('namespace') ?? '') !== ''
  if (!uri.includes('*') && !uri.includes('#') && !losesNamespace) return []
  const text = `${quoted(uri)} has a wildcard, a fragment, or a namespace that namespace_in_state removes`
  return [{ code: 'redirect_never_matches', field: 'allowed_redirect_uris', text }]
}

const literalStars = ([claim, values]: [string, readonly JsonValue[]]): Found[] =>
  values.flatMap((value) =>
    typeof value !== 'string'
      ? []
      : when(value.includes('*'), {
          code: 'glob_in_string_mode',
          field: `bound_claims.${excerpt(claim)}`,
          text: `${quoted(value)} holds \`*\` but bound_claims_type is string`,
        }),
  )

const fractions = ([claim, values]: [string, readonly JsonValue[]]): Found[] =>
  when(
    values.some((value) => isJsonNumber(value) && !/^-?\d+$/.test(numberText(value))),
    {
      code: 'number_never_matches',
      field: `bound_claims.${excerpt(claim)}`,
      text: `${excerpt(claim)} is bound to a fraction`,
    },
  )

const flowFields = [
  'allowed_redirect_uris',
  'max_age',
  'oauth2_metadata',
  'oidc_disable_confirmation',
  'oidc_scopes',
  'verbose_oidc_logging',
] as const
const loginFields = [
  'clock_skew_leeway',
  'expiration_leeway',
  'not_before_leeway',
  'token_replay_protection',
] as const

/** A role of type jwt has no mode but `client`, in which nobody polls. */
const pollFields = ['callback_mode', 'poll_interval'] as const
const isPolled = (record: RoleRecord, field: (typeof pollFields)[number]): boolean =>
  !isUnset(record[field]) && record[field] !== 'client'

/**
 * A role of type jwt with redirect URIs also serves browser logins, if the mount has a client.
 * docs/contract/oidc.md#the-authorization-url
 */
function withoutEffect(record: RoleRecord, config: Config | undefined): Found[] {
  const isInFlow =
    config !== undefined && hasOidcClient(config) && (record.allowed_redirect_uris ?? []).length > 0
  const unused: readonly (keyof RoleRecord)[] = isJwt(record) ? (isInFlow ? [] : flowFields) : loginFields
  const idle = unused.filter((field) => !isUnset(record[field]))
  if (isJwt(record)) idle.push(...pollFields.filter((field) => isPolled(record, field)))
  if (record.groups_claim_optional === true && (record.groups_claim ?? '') === '')
    idle.push('groups_claim_optional')
  if (record.user_claim_json_pointer === true && record.user_claim?.startsWith('/') === false)
    idle.push('user_claim_json_pointer')
  const text = `[${idle.toSorted().join(' ')}] have no effect on a role of type \`${record.role_type ?? ''}\``
  return when(idle.length > 0, { code: 'no_effect', field: idle[0] ?? '', text })
}

async function missingPolicies(record: RoleRecord, exists: LintContext['policyExists']): Promise<Found[]> {
  const { token_policies = [], token_policies_template_claims: areTemplates = false } = record
  const named = areTemplates ? token_policies.filter((name) => !name.includes('{{')) : token_policies
  const text = await policiesMissing({ token_policies: named }, exists)
  return when(text !== '', { code: 'policy_missing', field: 'token_policies', text })
}
