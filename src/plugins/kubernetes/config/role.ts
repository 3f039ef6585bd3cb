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
import { boolField, commaListField, convertFields, stringField } from '../../../lib/text/fields.ts'
import { globMatches } from '../../../lib/text/glob.ts'
import { goDuration } from '../../../lib/text/go-duration.ts'
import { parseSelector, type Selector } from './selector.ts'

const sources = ['serviceaccount_uid', 'serviceaccount_name'] as const

/** docs/contract/kubernetes.md#roles. A field that a write omits keeps its value, but for the selector. */
export const roleFields = z.object({
  bound_service_account_names: commaListField
    .optional()
    .describe('Service accounts that may log in; `*` stands for any text')
    .meta({ examples: [['web']] }),
  bound_service_account_namespaces: commaListField
    .optional()
    .describe('Namespaces whose accounts may log in; `*` stands for any text')
    .meta({ examples: [['dev']] }),
  bound_service_account_namespace_selector: stringField
    .optional()
    .describe(
      'Labels of further namespaces, as a LabelSelector in JSON or YAML; a write that omits it resets it',
    ),
  audience: stringField.optional().describe('Audience that a token must have'),
  alias_name_source: stringField
    .optional()
    .describe('What names the entity alias: `serviceaccount_uid` or `serviceaccount_name`')
    .meta({ examples: [...sources] }),
  renewal_review: boolField.optional().describe('A renewal asks the cluster again; default true'),
  ...tokenFields,
  ...oldTokenFields,
})

/** A role as written and as stored: a field that was never written is absent. */
export type RoleRecord = z.output<typeof roleFields>

/** A role, parsed once for many logins. */
export type Role = {
  readonly name: string
  readonly record: RoleRecord
  readonly selector: Selector | undefined
}

/** Parses a stored record. */
export function readRole(name: string, stored: unknown): Role {
  const record = convertFields(roleFields, { ...Object(stored) }).values
  const text = record.bound_service_account_namespace_selector ?? ''
  return { name, record, selector: text === '' ? undefined : parseSelector(text) }
}

/** The greatest lease time of the role's mount, in seconds. */
type RoleBounds = { readonly mountMaxTtl: number }

/**
 * Merges a write into the stored role and checks the result, in the order of
 * docs/contract/kubernetes.md#what-a-write-of-a-role-refuses. Throws the first refusal. Pure.
 */
export function changedRole(
  before: RoleRecord | undefined,
  sent: RoleRecord,
  { mountMaxTtl }: RoleBounds,
): RoleRecord {
  const role = withTokenFields({ ...before, ...sent }, sent)
  const { token_period = 0, token_ttl = 0, token_max_ttl = 0 } = role
  if (token_period > mountMaxTtl) {
    const [period, most] = [token_period, mountMaxTtl].map((seconds) => `'"${goDuration(seconds)}"'`)
    throw refuse(
      'invalid',
      `token period of ${period} is greater than the backend's maximum lease TTL of ${most}`,
    )
  }
  if (token_max_ttl > 0 && token_ttl > token_max_ttl)
    throw refuse('invalid', 'token ttl should not be greater than token max ttl')
  const bound = withBindings(role, sent)
  return { ...bound, alias_name_source: aliasSource(before, sent) }
}

/** The fields about tokens, checked, with old names applied. */
function withTokenFields(role: RoleRecord, sent: RoleRecord): RoleRecord {
  if (sent.token_bound_cidrs !== undefined) role.token_bound_cidrs = boundCidrs(sent.token_bound_cidrs)
  checkTokenFields(role)
  const merged = applyOldNames(role, sent)
  const { token_type, token_num_uses, token_period } = merged
  checkTokenFields({ token_type, token_num_uses, token_period })
  return merged
}

const names = 'bound_service_account_names'
const namespaces = 'bound_service_account_namespaces'
const selector = 'bound_service_account_namespace_selector'

/** Who may log in. A pattern that nobody meant to write must not open the role. */
function withBindings(role: RoleRecord, sent: RoleRecord): RoleRecord {
  const bound = {
    ...role,
    ...(role[names] && { [names]: role[names].filter((name) => name !== '') }),
    ...(role[namespaces] && { [namespaces]: role[namespaces].filter((name) => name !== '') }),
    [selector]: sent[selector] ?? '',
  }
  checkList(bound[names] ?? [], `"${names}" can not be empty`)
  const selected = bound[selector]
  if ((bound[namespaces] ?? []).length === 0 && selected === '')
    throw refuse('invalid', `"${namespaces}" can not be empty if "${selector}" is not set`)
  if (selected !== '' && parseSelector(selected) === undefined)
    throw refuse('invalid', `invalid "${selector}" configured`)
  checkList(bound[namespaces] ?? [])
  return bound
}

function checkList(list: readonly string[], empty?: string): void {
  if (list.length === 0 && empty !== undefined) throw refuse('invalid', empty)
  if (list.length > 1 && list.includes('*')) throw refuse('invalid', 'can not mix "*" with values')
}

function aliasSource(before: RoleRecord | undefined, { alias_name_source: sent }: RoleRecord): string {
  if (sent === undefined || (sent === '' && before === undefined))
    return before?.alias_name_source ?? sources[0]
  if (sources.some((known) => known === sent)) return sent
  throw refuse('invalid', `invalid alias_name_source, must be one of: ${sources.join(', ')}`)
}

/** The warnings of an accepted write. */
export const roleWarnings = ({ token_max_ttl = 0 }: RoleRecord, { mountMaxTtl }: RoleBounds): string[] =>
  token_max_ttl > mountMaxTtl
    ? [
        "max_ttl is greater than the system or backend mount's maximum TTL value; issued tokens' max TTL value will be truncated",
      ]
    : []

/** Whether a name is in a list, in which `*` stands for any text. */
export const isBound = (list: readonly string[] | undefined, name: string): boolean =>
  list?.some((pattern) => globMatches(pattern, name)) ?? false

/** The role as fields of a write. */
export const roleForm = (role: Role): object => ({
  ...shownRole(role),
  ...wholeTokenFields(role.record),
  audience: role.record.audience ?? '',
})

/** As a read shows it. */
export const shownRole = ({ record }: Pick<Role, 'record'>): object => ({
  [names]: record[names] ?? [],
  [namespaces]: record[namespaces] ?? null,
  [selector]: record[selector] ?? '',
  alias_name_source: record.alias_name_source ?? sources[0],
  ...((record.audience ?? '') !== '' && { audience: record.audience }),
  renewal_review: record.renewal_review ?? true,
  ...shownTokenFields(record),
})
