import { z } from 'zod'
import {
  applyOldNames,
  boundCidrs,
  checkTokenFields,
  oldTokenFields,
  shownTokenFields,
  tokenFields,
  wholeTokenFields,
} from '../../../core/tokens/store/token-fields.ts'
import { refuse } from '../../../errors.ts'
import {
  boolField,
  commaListField,
  convertFields,
  durationField,
  intField,
  kvOrTextField,
  mapOrTextField,
  signedDurationField,
  stringField,
} from '../../../lib/text/fields.ts'
import { goDuration } from '../../../lib/text/go-duration.ts'
import { goText, quoted } from '../../../lib/text/go-text.ts'
import { type JsonValue, stringifyJson } from '../../../lib/text/json.ts'
import { type BoundClaim, readyBoundClaims } from '../checks/bound-claims.ts'
import { type PolicyTemplate, parsePolicyTemplate } from '../checks/policy-templates.ts'

/** docs/contract/jwt.md#roles. A field that a write omits keeps its value. Durations are whole seconds. */
export const roleFields = z.object({
  role_type: stringField.optional().describe('`oidc` (default) or `jwt`; a write that omits it resets it'),
  bound_audiences: commaListField.optional().describe('Accepted `aud` values; one match suffices'),
  bound_subject: stringField.optional().describe('Required value of `sub`'),
  bound_claims: mapOrTextField
    .optional()
    .describe('Claim, or JSON pointer, to its accepted value or values; also as JSON text'),
  bound_claims_type: stringField
    .optional()
    .describe('`string` (default) or `glob`; a write that omits it resets it')
    .meta({ examples: ['string', 'glob'] }),
  claim_mappings: kvOrTextField
    .optional()
    .describe('Claim, or JSON pointer, to the metadata field it is copied to; also as JSON text'),
  claim_mappings_text_only: boolField
    .optional()
    .describe('A mapped claim that is no text refuses the login, instead of being written as text'),
  user_claim: stringField.optional().describe('Claim whose value names the entity alias'),
  user_claim_json_pointer: boolField.optional().describe('Read `user_claim` as a JSON pointer'),
  groups_claim: stringField.optional().describe('Claim, or JSON pointer, that lists the groups'),
  groups_claim_optional: boolField
    .optional()
    .describe('A token without `groups_claim` is accepted, without groups'),
  groups_claim_type: stringField
    .optional()
    .describe('`list` (default), or `object_keys`: the names of the members of an object are the groups too')
    .meta({ examples: ['list', 'object_keys'] }),
  oidc_scopes: commaListField.optional().describe('OIDC scopes to request besides `openid`'),
  allowed_redirect_uris: commaListField.optional().describe('Redirect URIs an OIDC login may use'),
  verbose_oidc_logging: boolField.optional().describe('Log received OIDC tokens and claims at debug level'),
  max_age: durationField.optional().describe('Longest time since the user last signed in at the provider'),
  callback_mode: stringField
    .optional()
    .describe('`client` (default), `direct` or `device`; a write that omits it resets it')
    .meta({ examples: ['client', 'direct', 'device'] }),
  poll_interval: intField
    .optional()
    .describe('Seconds between polls, in the modes `direct` and `device`; at most 3600'),
  oauth2_metadata: commaListField
    .optional()
    .describe(
      'Tokens of the provider to keep in the metadata of the token: `access_token`, `id_token`, `refresh_token`',
    ),
  expiration_leeway: signedDurationField.optional().describe('Tolerance of `exp`; 0 is 150 s, negative none'),
  not_before_leeway: signedDurationField.optional().describe('Tolerance of `nbf`; 0 is 150 s, negative none'),
  clock_skew_leeway: signedDurationField
    .optional()
    .describe('Tolerance of all times; 0 is 60 s, negative none'),
  oidc_disable_confirmation: boolField
    .optional()
    .describe(
      'Do not ask the person to confirm a login by `form_post` or in mode `direct`; a write that omits it resets it',
    ),
  token_replay_protection: boolField
    .optional()
    .describe('A JWT logs in only once; no effect on browser logins'),
  token_policies_template_claims: boolField
    .optional()
    .describe('Names in `token_policies` may contain claims: `{{ .team }}`, `{{ index . "a-b" "c" }}`'),
  ...tokenFields,
  ...oldTokenFields,
})

/** A role as written and as stored: a field that was never written is absent. */
export type RoleRecord = z.output<typeof roleFields>

const admitsNobody: ReadonlySet<string> = new Set([
  ...Object.keys({ ...tokenFields, ...oldTokenFields }),
  'oidc_disable_confirmation',
  'poll_interval',
  'verbose_oidc_logging',
])

/** What of a role decides whom it lets in, and what it keeps of them. */
export const admission = ({ record, policyTemplates }: Role): object =>
  Object.fromEntries(
    Object.entries(record)
      .filter(
        ([name]) => !admitsNobody.has(name) || (name === 'token_policies' && policyTemplates !== undefined),
      )
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  )

/** A role, parsed once for many logins. */
export type Role = {
  readonly name: string
  readonly record: RoleRecord
  readonly boundClaims: readonly BoundClaim[]
  /** Of a role whose policies claims name. */
  readonly policyTemplates?: readonly PolicyTemplate[] | undefined
  /** What a CEL role asks of a token before its program runs. docs/contract/cel.md#login */
  readonly isCel?: true
  readonly program?: object
}

const withoutTypes = { role_type: 'jwt', bound_claims_type: 'string' } as const

/** How the token of a browser login reaches the client. docs/contract/oidc.md#callback-modes */
export const callbackModes = ['client', 'direct', 'device'] as const
export type CallbackMode = (typeof callbackModes)[number]
const maxPollInterval = 3600

/** A role of type `jwt` has only the mode of clients that know no other. */
export const callbackMode = ({ role_type, callback_mode }: RoleRecord): CallbackMode =>
  (role_type === 'jwt' ? undefined : callbackModes.find((mode) => mode === callback_mode)) ?? 'client'

const oauth2Names: ReadonlySet<string> = new Set(['access_token', 'id_token', 'refresh_token'])

/**
 * Parses a stored record as a role. A record without types is older than they are. docs/contract/jwt.md#roles
 */
export function readRole(name: string, stored: unknown): Role {
  if (typeof stored !== 'object' || stored === null) throw new Error('a stored JWT role is not an object')
  const record = { ...withoutTypes, ...convertFields(roleFields, { ...stored }).values }
  return {
    name,
    record,
    policyTemplates: templatesOf(record),
    boundClaims: readyBoundClaims(
      record.bound_claims ?? null,
      record.bound_claims_type === 'glob' ? 'glob' : 'string',
    ),
  }
}

/** Undefined if no claims name its policies. Throws `invalid`. */
function templatesOf({
  token_policies = [],
  token_policies_template_claims: areTemplates = false,
}: RoleRecord): PolicyTemplate[] | undefined {
  return areTemplates
    ? token_policies.map((text, index) => {
        const template = parsePolicyTemplate(text)
        if ('problem' in template)
          throw refuse('invalid', `failed to parse template policy [${index}]: ${template.problem}`)
        return template
      })
    : undefined
}

/** The greatest lease time of the role's mount, in seconds. */
export type RoleBounds = { readonly mountMaxTtl: number }

/**
 * Merges a write into the stored role and checks the result as a whole, in the order of
 * docs/contract/jwt.md#configuration and docs/contract/jwt.md#roles. Throws the first refusal. Pure: it does
 * not change its arguments.
 */
export function changedRole(
  before: RoleRecord | undefined,
  sent: RoleRecord,
  bounds: RoleBounds,
): RoleRecord {
  const role: RoleRecord = {
    ...before,
    ...sent,
    role_type: sent.role_type || 'oidc',
    bound_claims_type: sent.bound_claims_type ?? 'string',
    callback_mode: sent.callback_mode || 'client',
    oidc_disable_confirmation: sent.oidc_disable_confirmation ?? false,
  }
  if (role.role_type !== 'oidc' && role.role_type !== 'jwt')
    throw refuse('invalid', `invalid 'role_type': ${goText(role.role_type)}`)
  checkFlowFields(role)
  if (sent.token_bound_cidrs !== undefined) role.token_bound_cidrs = boundCidrs(sent.token_bound_cidrs)
  checkTokenFields(role)
  const merged = applyOldNames(role, sent)
  const { token_type, token_num_uses, token_period } = merged
  checkTokenFields({ token_type, token_num_uses, token_period })
  if ((merged.token_period ?? 0) > bounds.mountMaxTtl) {
    const [period, max] = [merged.token_period ?? 0, bounds.mountMaxTtl].map(
      (seconds) => `'"${goDuration(seconds)}"'`,
    )
    throw refuse('invalid', `'period' of ${period} is greater than the backend's maximum lease TTL of ${max}`)
  }
  checkClaimFields(merged, sent)
  templatesOf(merged)
  checkRequired(merged)
  return merged
}

function checkFlowFields({
  callback_mode: mode = '',
  poll_interval = 0,
  oauth2_metadata = [],
}: RoleRecord): void {
  if (!callbackModes.some((known) => known === mode))
    throw refuse('invalid', `invalid 'callback_mode': ${goText(mode)}`)
  if (poll_interval < 0) throw refuse('invalid', "'poll_interval' cannot be negative")
  if (poll_interval > maxPollInterval) throw refuse('invalid', "'poll_interval' is too long")
  const unknown = oauth2_metadata.find((name) => !oauth2Names.has(name))
  if (unknown !== undefined) throw refuse('invalid', `Unrecognized oauth2 metadata name ${goText(unknown)}`)
}

function checkClaimFields(role: RoleRecord, sent: RoleRecord): void {
  const { bound_claims_type: type = '' } = role
  if (type !== 'string' && type !== 'glob')
    throw refuse('invalid', `invalid 'bound_claims_type': ${goText(type)}`)
  const { groups_claim_type: groups = 'list' } = role
  if (groups !== 'list' && groups !== 'object_keys')
    throw refuse('invalid', `invalid 'groups_claim_type': ${goText(groups)}`)
  if (type === 'glob') for (const value of Object.values(sent.bound_claims ?? {})) checkGlob(value)
  const targets = new Set<string>()
  for (const key of Object.values(role.claim_mappings ?? {})) {
    if (key === 'role')
      throw refuse('invalid', 'metadata key "role" is reserved and may not be a mapping destination')
    if (targets.has(key)) throw refuse('invalid', `multiple keys are mapped to metadata key ${quoted(key)}`)
    targets.add(key)
  }
}

function checkGlob(value: JsonValue): void {
  if (value === null || (typeof value === 'object' && !Array.isArray(value) && !JSON.isRawJSON(value))) {
    throw refuse('invalid', `claim is not a string or list: ${goText(value)}`)
  }
  const wrong = (Array.isArray(value) ? value : [value]).find((item) => typeof item !== 'string')
  if (wrong !== undefined) throw refuse('invalid', `claim is not a string: ${goText(wrong)}`)
}

/** Runs last, on the complete role. */
function checkRequired(role: RoleRecord): void {
  const { user_claim = '', token_ttl = 0, token_max_ttl = 0 } = role
  if (user_claim === '') throw refuse('invalid', 'a user claim must be defined on the role')
  const isVisited = role.role_type === 'oidc' && role.callback_mode !== 'device'
  if (isVisited && (role.allowed_redirect_uris ?? []).length === 0) {
    throw refuse('invalid', "'allowed_redirect_uris' must be set if 'role_type' is 'oidc' or unspecified.")
  }
  if (role.role_type === 'jwt' && !isBound(role)) {
    throw refuse('invalid', 'must have at least one bound constraint when creating/updating a role')
  }
  if (token_max_ttl > 0 && token_ttl > token_max_ttl)
    throw refuse('invalid', 'ttl should not be greater than max ttl')
}

const isBound = ({ bound_audiences, token_bound_cidrs, bound_subject, bound_claims }: RoleRecord): boolean =>
  (bound_audiences ?? []).length > 0 ||
  (token_bound_cidrs ?? []).length > 0 ||
  (bound_subject ?? '') !== '' ||
  Object.keys(bound_claims ?? {}).length > 0

/** The warnings of an accepted write. docs/contract/jwt.md#roles */
export function roleWarnings(role: RoleRecord, { mountMaxTtl }: RoleBounds): string[] {
  const warnings: string[] = []
  if ((role.token_max_ttl ?? 0) > mountMaxTtl) {
    warnings.push(
      "token max ttl is greater than the system or backend mount's maximum TTL value; issued tokens' max TTL value will be truncated",
    )
  }
  if (role.verbose_oidc_logging === true) {
    warnings.push(
      'verbose_oidc_logging has been enabled for this role. This is not recommended in production since sensitive information may be present in OIDC responses.',
    )
  }
  return warnings
}

/** The texts of roles that have been read, as long as the roles are cached: a read takes a fifth less time. */
const shownTexts = new WeakMap<Role, string>()

/** `data` of a read as JSON text. docs/contract/jwt.md#roles */
export function shownText(role: Role): string {
  const known = shownTexts.get(role)
  if (known !== undefined) return known
  const text = stringifyJson(shownRole(role))
  shownTexts.set(role, text)
  return text
}

/** The role as fields of a write. */
export const roleForm = (role: Role): object => ({
  ...shownRole(role),
  ...wholeTokenFields(role.record),
  poll_interval: role.record.poll_interval ?? 0,
})

export function shownRole({ record }: Pick<Role, 'record'>): object {
  return {
    role_type: record.role_type,
    user_claim: record.user_claim ?? '',
    user_claim_json_pointer: record.user_claim_json_pointer ?? false,
    bound_subject: record.bound_subject ?? '',
    bound_audiences: record.bound_audiences ?? null,
    bound_claims: record.bound_claims ?? null,
    bound_claims_type: record.bound_claims_type,
    claim_mappings: record.claim_mappings ?? null,
    claim_mappings_text_only: record.claim_mappings_text_only ?? false,
    groups_claim: record.groups_claim ?? '',
    groups_claim_optional: record.groups_claim_optional ?? false,
    groups_claim_type: record.groups_claim_type ?? 'list',
    allowed_redirect_uris: record.allowed_redirect_uris ?? null,
    oidc_scopes: record.oidc_scopes ?? null,
    verbose_oidc_logging: record.verbose_oidc_logging ?? false,
    max_age: record.max_age ?? 0,
    callback_mode: record.callback_mode ?? 'client',
    ...((record.poll_interval ?? 0) > 0 ? { poll_interval: record.poll_interval } : {}),
    oauth2_metadata: record.oauth2_metadata ?? null,
    expiration_leeway: record.expiration_leeway ?? 0,
    not_before_leeway: record.not_before_leeway ?? 0,
    clock_skew_leeway: record.clock_skew_leeway ?? 0,
    oidc_disable_confirmation: record.oidc_disable_confirmation ?? false,
    token_replay_protection: record.token_replay_protection ?? false,
    token_policies_template_claims: record.token_policies_template_claims ?? false,
    ...shownTokenFields(record),
  }
}
