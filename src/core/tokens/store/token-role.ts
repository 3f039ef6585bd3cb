import { z } from 'zod'
import { refuse } from '../../../errors.ts'
import {
  boolField,
  commaListField,
  convertFields,
  durationField,
  intField,
  stringField,
} from '../../../lib/text/fields.ts'
import { quoted } from '../../../lib/text/go-text.ts'
import { sanitize } from './policy-names.ts'
import type { TokenType } from './token.ts'
import { boundCidrs, instead, limitedBatchRole } from './token-fields.ts'

/**
 * The fields of a role. A field left out of a write keeps its value. Durations are whole seconds.
 * docs/contract/tokens-and-policies.md#token-roles
 */
export const tokenRoleFields = z.object({
  allowed_policies: commaListField.optional().describe('Policies its tokens may have; also their default'),
  disallowed_policies: commaListField.optional().describe('Policies its tokens never have'),
  allowed_policies_glob: commaListField
    .optional()
    .describe('Patterns of policies its tokens may have; `*` matches any characters'),
  disallowed_policies_glob: commaListField.optional().describe('Patterns of policies its tokens never have'),
  orphan: boolField
    .optional()
    .describe('Its tokens have no parent, so they outlive the token that created them'),
  renewable: boolField.optional().describe('Whether its tokens can be renewed; true by default'),
  path_suffix: stringField.optional().describe('Suffix of the path of its tokens, to tell them apart'),
  allowed_entity_aliases: commaListField
    .optional()
    .describe('Names or patterns of entity aliases that its tokens may have'),
  token_bound_cidrs: commaListField.optional().describe('Addresses that may use its tokens'),
  token_explicit_max_ttl: durationField
    .optional()
    .describe('Maximum lifetime of its tokens, including renewals'),
  token_period: durationField.optional().describe('Renewal period of its tokens'),
  token_type: stringField
    .optional()
    .describe('`service`, `batch`, `default-service` (the default) or `default-batch`'),
  token_no_default_policy: boolField
    .optional()
    .describe('Omit the `default` policy, if the role lists policies'),
  token_num_uses: intField.optional().describe('Number of uses of its tokens; 0: unlimited'),
  period: durationField.optional().meta(instead('token_period')),
  explicit_max_ttl: durationField.optional().meta(instead('token_explicit_max_ttl')),
  bound_cidrs: commaListField.optional().meta(instead('token_bound_cidrs')),
})

/** A role as stored: fields that were never written are absent. */
export type TokenRoleRecord = z.output<typeof tokenRoleFields>

export type TokenRole = { readonly name: string; readonly record: TokenRoleRecord }

export function readTokenRole(name: string, stored: unknown): TokenRole {
  if (typeof stored !== 'object' || stored === null) throw new Error('a stored token role is not an object')
  return { name, record: convertFields(tokenRoleFields, { ...stored }).values }
}

/** The fields that a later version has stored. They are kept when the role is written. */
export const laterFields = (stored: unknown): object =>
  Object.fromEntries(Object.entries(Object(stored)).filter(([name]) => !(name in tokenRoleFields.shape)))

/**
 * Applies the sent fields to the stored role and checks the result. Throws the first refusal, in the order of
 * docs/contract/tokens-and-policies.md#token-roles.
 */
export function changedTokenRole(
  before: TokenRoleRecord | undefined,
  sent: TokenRoleRecord,
): TokenRoleRecord {
  checkPathSuffix(sent.path_suffix ?? '')
  const { token_type: type } = sent
  if (type !== undefined && !types.has(type))
    throw refuse('invalid', `invalid 'token_type' value ${quoted(type)}`)
  const lists = [
    'disallowed_policies',
    'allowed_policies_glob',
    'disallowed_policies_glob',
    'allowed_entity_aliases',
  ] as const
  const { allowed_policies, token_bound_cidrs } = sent
  const role: TokenRoleRecord = {
    ...before,
    ...sent,
    ...(allowed_policies && { allowed_policies: sanitize(allowed_policies, false) }),
    ...Object.fromEntries(lists.flatMap((name) => (sent[name] ? [[name, lowerUnique(sent[name])]] : []))),
    ...(token_bound_cidrs && {
      token_bound_cidrs: boundCidrs(token_bound_cidrs, 'error parsing role fields: '),
    }),
  }
  if ((role.token_num_uses ?? 0) < 0)
    throw refuse('invalid', "error parsing role fields: 'token_num_uses' cannot be negative")
  const settled: TokenRoleRecord = {
    ...role,
    ...deprecated('period', 'token_period', sent.period, sent.token_period),
    ...deprecated(
      'explicit_max_ttl',
      'token_explicit_max_ttl',
      sent.explicit_max_ttl,
      sent.token_explicit_max_ttl,
    ),
    ...deprecated(
      'bound_cidrs',
      'token_bound_cidrs',
      oldCidrs(sent),
      role.token_bound_cidrs,
      sent.token_bound_cidrs !== undefined,
    ),
  }
  if (settled.token_type === 'batch') checkBatchRole(settled)
  if (settled.token_type === 'default-batch' && (settled.token_num_uses ?? 0) !== 0) throw limitedBatchRole()
  return settled
}

/** The suffix is in the path of every token of the role and in the token's lease id. */
const maxSuffixLength = 512
const types = new Set(['service', 'batch', 'default-service', 'default-batch'])

function checkPathSuffix(suffix: string): void {
  if (suffix === '') return
  if (suffix.length > maxSuffixLength)
    throw refuse('invalid', `given role path suffix is longer than ${maxSuffixLength} characters`)
  if (!/\w[\w\-.]+\w/.test(suffix))
    throw refuse('invalid', 'given role path suffix contains invalid characters; must match \\w[\\w-.]+\\w')
  if (suffix.includes('..'))
    throw refuse('invalid', 'error registering path suffix: path cannot contain parent references')
}

const lowerUnique = (list: readonly string[]): string[] =>
  [...new Set(list.map((name) => name.trim().toLowerCase()))].filter((name) => name !== '').sort()

/** Not checked if `token_bound_cidrs` overrides it. */
const oldCidrs = (sent: TokenRoleRecord): string[] | undefined =>
  sent.bound_cidrs === undefined || sent.token_bound_cidrs !== undefined
    ? undefined
    : boundCidrs(sent.bound_cidrs, 'error parsing bound_cidrs: ')

/** A deprecated name sent alone sets both fields; the new name clears the deprecated one. */
function deprecated<Value>(
  oldName: keyof TokenRoleRecord,
  newName: keyof TokenRoleRecord,
  oldValue: Value | undefined,
  newValue: Value | undefined,
  newWasSent = newValue !== undefined,
): TokenRoleRecord {
  if (newWasSent) return { [newName]: newValue, [oldName]: undefined }
  return oldValue === undefined ? {} : { [newName]: oldValue, [oldName]: oldValue }
}

/** Refuses settings that batch tokens do not support. docs/contract/tokens-and-policies.md#token-roles */
function checkBatchRole({
  orphan = false,
  token_period = 0,
  renewable = true,
  token_explicit_max_ttl = 0,
  token_num_uses = 0,
}: TokenRoleRecord): void {
  const cannot = (tokens: string) =>
    refuse('invalid', `'token_type' cannot be 'batch' when role is set to generate ${tokens}`)
  if (!orphan) throw cannot('non-orphan tokens')
  if (token_period !== 0) throw cannot('periodic tokens')
  if (renewable) throw cannot('renewable tokens')
  if (token_explicit_max_ttl !== 0) throw cannot('tokens with an explicit max TTL')
  if (token_num_uses !== 0) throw cannot('tokens with limited use count')
}

/** Warnings of an accepted write. docs/contract/tokens-and-policies.md#token-roles */
export function tokenRoleWarnings(
  role: TokenRoleRecord,
  sent: TokenRoleRecord,
  mountMaxTtl: number,
): string[] {
  const both = (['period', 'bound_cidrs', 'explicit_max_ttl'] as const)
    .filter((name) => sent[name] !== undefined && sent[`token_${name}`] !== undefined)
    .map(
      (name) => `Both 'token_${name}' and deprecated '${name}' value supplied, ignoring the deprecated value`,
    )
  const { token_explicit_max_ttl: max = 0 } = role
  if (max <= mountMaxTtl) return both
  const limits = `Given explicit max TTL of ${max} is greater than system/mount allowed value of ${mountMaxTtl} seconds`
  return [
    ...both,
    `${limits}; until this is fixed attempting to create tokens against this role will result in an error`,
  ]
}

/** `data` of a read. docs/contract/tokens-and-policies.md#token-roles */
export function shownTokenRole({ name, record }: TokenRole): object {
  const { token_bound_cidrs = [], bound_cidrs = [], token_num_uses = 0 } = record
  return {
    name,
    allowed_policies: record.allowed_policies ?? [],
    disallowed_policies: record.disallowed_policies ?? [],
    allowed_policies_glob: record.allowed_policies_glob ?? [],
    disallowed_policies_glob: record.disallowed_policies_glob ?? [],
    orphan: record.orphan ?? false,
    renewable: record.renewable ?? true,
    path_suffix: record.path_suffix ?? '',
    token_type: record.token_type ?? 'default-service',
    allowed_entity_aliases: record.allowed_entity_aliases ?? null,
    period: record.period ?? 0,
    token_period: record.token_period ?? 0,
    explicit_max_ttl: record.explicit_max_ttl ?? 0,
    token_explicit_max_ttl: record.token_explicit_max_ttl ?? 0,
    token_no_default_policy: record.token_no_default_policy ?? false,
    ...(token_bound_cidrs.length === 0 ? {} : { token_bound_cidrs }),
    ...(bound_cidrs.length === 0 ? {} : { bound_cidrs }),
    ...(token_num_uses > 0 ? { token_num_uses } : {}),
  }
}

/**
 * The type of a new token, from the role and the request; undefined if the requested type does not exist.
 * docs/contract/tokens-and-policies.md#creating-a-token, docs/contract/tokens-and-policies.md#token-roles
 */
export function createdTokenType(
  role: TokenRoleRecord | undefined,
  requested: string,
): TokenType | undefined {
  const forced = role?.token_type
  if (forced === 'service' || forced === 'batch') return forced
  if (requested === '') return forced === 'default-batch' ? 'batch' : 'service'
  return requested === 'service' || requested === 'batch' ? requested : undefined
}
