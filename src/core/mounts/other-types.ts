import { excerpt } from '../../lib/text/go-text.ts'
import type { MountTable } from './mount.ts'

/** Types of Vault and OpenBao that this server lacks, by what serves the same clients here. */
const others: Record<MountTable, readonly (readonly [types: readonly string[], instead: string])[]> = {
  auth: [
    [
      ['aws', 'azure', 'gcp', 'alicloud', 'oci', 'cf', 'pcf', 'spiffe'],
      '"jwt" accepts the identity tokens of workloads',
    ],
    [
      ['github', 'ldap', 'okta', 'saml', 'kerberos', 'radius', 'centrify'],
      '"oidc" logs people in through an OpenID provider, and "jwt" accepts the tokens of pipelines',
    ],
    [['cert', 'app-id', 'scep'], '"approle" logs machines in, and "jwt" those with a token of an issuer'],
  ],
  secret: [
    [['azuread'], '"azure" and "cloud" issue credentials of the same directory'],
    [
      [
        ...[
          'ad',
          'alicloud',
          'aws',
          'consul',
          'database',
          'gcp',
          'kubernetes',
          'ldap',
          'mongodb',
          'mongodbatlas',
        ],
        ...['mssql', 'mysql', 'nomad', 'openldap', 'postgresql', 'cassandra', 'rabbitmq', 'terraform'],
      ],
      '"kv" stores credentials that something else makes',
    ],
    [
      ['gcpkms', 'keymgmt', 'kmip', 'pki', 'ssh', 'totp', 'transform', 'transit'],
      'no type of this server does the same',
    ],
  ],
}

/** The refusal of a type that this server does not have. docs/contract/mounts.md#enabling */
export function unknownType(table: MountTable, type: string): string {
  const instead = others[table].find(([types]) => types.includes(type))?.[1]
  return `plugin not found in the catalog: ${excerpt(type)}${instead === undefined ? '' : `; ${instead}`}`
}
