/**
 * In what mounts of type `cloud` and `azure` differ: how they call things, and nothing else.
 * docs/contract/cloud.md#names
 */
export type FieldNames = {
  readonly type: 'cloud' | 'azure'
  /** How texts call the provider. */
  readonly word: 'Cloud' | 'Azure'
  /** Field of a role that lists what it is allowed to do. */
  readonly roles: 'cloud_roles' | 'azure_roles'
  /** Field of a role that lists the groups it is a member of. */
  readonly groups: 'cloud_groups' | 'azure_groups'
  /** Values of `sign_in_audience` in the order texts list them, each with what is sent upstream. */
  readonly audiences: ReadonlyMap<string, string>
}

const upstreamAudiences = [
  'AzureADMyOrg',
  'AzureADMultipleOrgs',
  'AzureADandPersonalMicrosoftAccount',
  'PersonalMicrosoftAccount',
] as const

/** The one table. */
export const fieldNames: Readonly<Record<FieldNames['type'], FieldNames>> = {
  cloud: {
    type: 'cloud',
    word: 'Cloud',
    roles: 'cloud_roles',
    groups: 'cloud_groups',
    audiences: new Map(
      upstreamAudiences.map((name) => [name.replace('Azure', 'Cloud').replace('Microsoft', 'Vendor'), name]),
    ),
  },
  azure: {
    type: 'azure',
    word: 'Azure',
    roles: 'azure_roles',
    groups: 'azure_groups',
    audiences: new Map(upstreamAudiences.map((name) => [name, name])),
  },
}

/** The names of a mount, by its type. */
export const namesOf = ({ type }: { readonly type: string }): FieldNames =>
  type === 'azure' ? fieldNames.azure : fieldNames.cloud
