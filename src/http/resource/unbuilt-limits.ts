import { refuse } from '../../errors.ts'
import { isJsonNumber, type JsonValue } from '../../lib/text/json.ts'

/** Fields that limit something in another server and that no path here builds, and the table they come from. */
type UnbuiltLimits = { readonly source: string; readonly fields: readonly string[] }

/**
 * A path without one of these fields refuses it, because it must not be dropped in silence: a role that is meant for
 * another login method would let everyone in. Other unknown fields are warned about.
 * docs/contract/http.md#undeclared-fields
 */
export const unbuiltLimits: readonly UnbuiltLimits[] = [
  { source: 'OpenBao sdk/helper/tokenutil, roles of login methods', fields: ['token_strictly_bind_ip'] },
  {
    source: 'Vault and OpenBao api-docs/auth/kubernetes, roles',
    fields: [
      'bound_service_account_names',
      'bound_service_account_namespaces',
      'bound_service_account_namespace_selector',
      'audience',
    ],
  },
  {
    source: 'Vault api-docs/auth/aws, roles',
    fields: [
      'bound_ami_id',
      'bound_account_id',
      'bound_region',
      'bound_vpc_id',
      'bound_subnet_id',
      'bound_iam_role_arn',
      'bound_iam_instance_profile_arn',
      'bound_iam_principal_arn',
      'bound_ec2_instance_id',
      'role_tag',
      'disallow_reauthentication',
    ],
  },
  {
    source: 'Vault api-docs/auth/azure, roles',
    fields: [
      'bound_service_principal_ids',
      'bound_group_ids',
      'bound_locations',
      'bound_subscription_ids',
      'bound_resource_groups',
      'bound_scale_sets',
    ],
  },
  {
    source: 'Vault api-docs/auth/gcp, roles',
    fields: [
      'bound_service_accounts',
      'bound_projects',
      'bound_zones',
      'bound_regions',
      'bound_instance_groups',
      'bound_labels',
      'max_jwt_exp',
    ],
  },
  {
    source: 'Vault and OpenBao api-docs/auth/cert, roles',
    fields: [
      'allowed_names',
      'allowed_common_names',
      'allowed_dns_sans',
      'allowed_email_sans',
      'allowed_uri_sans',
      'allowed_organizational_units',
      'required_extensions',
      'ocsp_enabled',
    ],
  },
  {
    source: 'Vault api-docs/auth/cf, roles',
    fields: ['bound_application_ids', 'bound_space_ids', 'bound_organization_ids', 'bound_instance_ids'],
  },
  { source: 'Vault api-docs/auth/saml, roles', fields: ['bound_subjects', 'bound_attributes'] },
  { source: 'Vault api-docs/auth/oci, roles', fields: ['ocid_list'] },
  { source: 'OpenBao api-docs/system/namespaces', fields: ['seal'] },
]

const limits: ReadonlySet<string> = new Set(unbuiltLimits.flatMap(({ fields }) => fields))

/** Refuses a request one of whose undeclared fields would limit something. Throws `invalid`. */
export function refuseUnbuiltLimits(
  undeclared: readonly string[],
  sent: Readonly<Record<string, JsonValue>>,
): void {
  const limit = undeclared.find((name) => limits.has(name) && !limitsNothing(sent[name]))
  if (limit !== undefined)
    throw refuse('invalid', `field "${limit}" would limit what is granted, and this path does not have it`)
}

/** Clients send empty values for what nobody has set. */
function limitsNothing(value: JsonValue | undefined): boolean {
  if (typeof value === 'string') return ['', 'false', '0', '0s'].includes(value.trim())
  if (isJsonNumber(value)) return Number(value.rawJSON) === 0
  if (Array.isArray(value)) return value.every(limitsNothing)
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0
  return value === undefined || value === null || value === false
}
