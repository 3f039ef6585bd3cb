import type { StoredRoles } from '../../../core/records/stored-roles.ts'
import { usesFindings } from '../../../core/tokens/store/token-type.ts'
import { policiesMissing } from '../../../logins/explain/policies-missing.ts'
import type { ReadyConfig } from '../config/config.ts'
import type { Role } from '../config/role.ts'

/** Stable words; each is explained in docs/contract/kubernetes.md#lint */
export const lintCodes = [
  'no_audience',
  'all_names_in_all_namespaces',
  'wildcard_names',
  'wildcard_namespaces',
  'selector_decides',
  'name_alias',
  'unbounded_alias',
  'renewal_unchecked',
  'policy_missing',
  'no_effect',
  'uses_without_effect',
  'pin_without_key',
  'verification_keys',
  'issuer_unchecked',
  'insecure_host',
  'reviewer_missing',
  'ca_and_local',
  'annotations_decide',
] as const
type LintCode = (typeof lintCodes)[number]

/** A setting that is valid but probably not intended; of the configuration if `role` is empty. */
export type Finding = {
  readonly role: string
  readonly code: LintCode
  readonly field: string
  readonly text: string
}

type Exists = (policy: string) => Promise<boolean>
export type LintAsked = {
  readonly role: string
  readonly exists: Exists
  /** Of the mount. */
  readonly tokenType: string | undefined
}

/** What is looked at. */
type Linted = {
  readonly roles: Pick<StoredRoles<Role>, 'all' | 'find'>
  findConfig(): Promise<ReadyConfig | undefined>
  hasLocalCa(): Promise<boolean>
}

/** All findings, or those about one role; undefined if that does not exist. */
export async function lintMount(
  { roles, findConfig, hasLocalCa: isInCluster }: Linted,
  { role: wanted, exists, tokenType }: LintAsked,
): Promise<Finding[] | undefined> {
  const named =
    wanted === '' ? await roles.all() : [await roles.find(wanted)].filter((role) => role !== undefined)
  if (wanted !== '' && named.length === 0) return undefined
  const findings: Finding[] = []
  for (const role of named.toSorted((one, other) => (one.name < other.name ? -1 : 1)))
    findings.push(
      ...(await lintRole(role, exists)),
      ...usesFindings(tokenType, role.record).map((found) => ({ role: role.name, ...found })),
    )
  const ready = wanted === '' ? await findConfig() : undefined
  if (ready === undefined) return findings
  const hasLocalCa = await isInCluster()
  return [
    ...lintConfig(ready, { usesSelectors: named.some(({ selector }) => selector !== undefined), hasLocalCa }),
    ...findings,
  ]
}

async function missingPolicies({ name, record }: Role, exists: Exists): Promise<Finding[]> {
  const text = await policiesMissing(record, exists)
  return text === '' ? [] : [{ role: name, code: 'policy_missing', field: 'token_policies', text }]
}

type Rule<Of> = readonly [code: LintCode, field: string, applies: (of: Of) => boolean, text: string]

const namesOf = ({ record }: Role) => record.bound_service_account_names ?? []
const namespacesOf = ({ record }: Role) => record.bound_service_account_namespaces ?? []
const isAll = (list: readonly string[]) => list.some((pattern) => /^\*+$/.test(pattern))
const isOpenStart = (list: readonly string[]) => list.some((pattern) => pattern.startsWith('*'))
const oldNames = ['policies', 'bound_cidrs', 'num_uses', 'ttl', 'max_ttl', 'period'] as const

const roleRules: readonly Rule<Role>[] = [
  [
    'no_audience',
    'audience',
    ({ record }) => (record.audience ?? '') === '',
    'a token that was made for any other service opens this role; set audience',
  ],
  [
    'all_names_in_all_namespaces',
    'bound_service_account_names',
    (role) => isAll(namesOf(role)) && isAll(namespacesOf(role)),
    'every pod of the cluster may log in',
  ],
  [
    'wildcard_names',
    'bound_service_account_names',
    (role) => isOpenStart(namesOf(role)) && !(isAll(namesOf(role)) && isAll(namespacesOf(role))),
    'whoever may create a service account chooses its name',
  ],
  [
    'wildcard_namespaces',
    'bound_service_account_namespaces',
    (role) => isOpenStart(namespacesOf(role)) && !(isAll(namesOf(role)) && isAll(namespacesOf(role))),
    'whoever may create a namespace chooses its name',
  ],
  [
    'selector_decides',
    'bound_service_account_namespace_selector',
    ({ selector }) => selector !== undefined,
    'whoever may label a namespace may open this role',
  ],
  [
    'name_alias',
    'alias_name_source',
    ({ record }) => record.alias_name_source === 'serviceaccount_name',
    'an account that is made anew under this name takes over the entity',
  ],
  [
    'unbounded_alias',
    'alias_name_source',
    (role) => role.record.alias_name_source !== 'serviceaccount_name' && isAll(namesOf(role)),
    'accounts that are made for each job make an entity each',
  ],
  [
    'renewal_unchecked',
    'renewal_review',
    ({ record }) => record.renewal_review === false,
    'tokens are renewed after pod or account were deleted',
  ],
  [
    'no_effect',
    'token_policies',
    ({ record }) => oldNames.some((name) => record[name] !== undefined),
    'a setting has an old and a new name; write the new one',
  ],
]

/** What is known beside the configuration. */
type Surroundings = { readonly usesSelectors: boolean; readonly hasLocalCa: boolean }
type LintedConfig = ReadyConfig & Surroundings

const configRules: readonly Rule<LintedConfig>[] = [
  [
    'verification_keys',
    'verification',
    ({ config }) => config.verification === 'keys',
    'deleted pods and accounts are accepted until their token ends',
  ],
  [
    'issuer_unchecked',
    'issuer',
    ({ config }) => !config.disable_iss_validation && config.issuer === '',
    'the issuer is not compared, because none is set',
  ],
  [
    'insecure_host',
    'kubernetes_host',
    ({ url }) => url.startsWith('http:'),
    'tokens are sent without encryption',
  ],
  [
    'reviewer_missing',
    'token_reviewer_jwt',
    ({ config, usesSelectors, hasLocalCa }) =>
      usesSelectors && config.token_reviewer_jwt === '' && (config.disable_local_ca_jwt || !hasLocalCa),
    'a role has a selector, and nobody can ask for the labels of a namespace',
  ],
  [
    'ca_and_local',
    'kubernetes_ca_cert',
    ({ config, hasLocalCa }) =>
      hasLocalCa && config.kubernetes_ca_cert !== '' && !config.disable_local_ca_jwt,
    'the authority is not followed when the cluster changes its own; leave it to the file',
  ],
  [
    'annotations_decide',
    'use_annotations_as_alias_metadata',
    ({ config }) => config.use_annotations_as_alias_metadata,
    'whoever may edit a service account chooses metadata that policies can use',
  ],
]

const found = <Of>(role: string, of: Of, rules: readonly Rule<Of>[]): Finding[] =>
  rules.flatMap(([code, field, applies, text]) => (applies(of) ? [{ role, code, field, text }] : []))

/** The findings about a role as it is stored. */
export const lintRole = async (role: Role, exists: Exists): Promise<Finding[]> => [
  ...found(role.name, role, roleRules),
  ...(await missingPolicies(role, exists)),
]

const lintConfig = (ready: ReadyConfig, surroundings: Surroundings): Finding[] =>
  found('', { ...ready, ...surroundings }, configRules)
