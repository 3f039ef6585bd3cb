/** All in which mounts of type `cloud` and `azure` differ. docs/contract/cloud.md#names */
export type FieldNames = {
  readonly type: 'cloud' | 'azure'
  readonly word: 'Cloud' | 'Azure'
  /** The field that lists the Azure roles to assign. */
  readonly roles: 'cloud_roles' | 'azure_roles'
  /** The field that lists the groups to join. */
  readonly groups: 'cloud_groups' | 'azure_groups'
  /** The field that lists the app roles to assign. */
  readonly appRoles: 'cloud_app_roles' | 'azure_app_roles'
  /** The values of `sign_in_audience`, in the order of error texts, with the values sent upstream. */
  readonly audiences: ReadonlyMap<string, string>
}

const upstreamAudiences = [
  'AzureADMyOrg',
  'AzureADMultipleOrgs',
  'AzureADandPersonalMicrosoftAccount',
  'PersonalMicrosoftAccount',
] as const

export const fieldNames: Readonly<Record<FieldNames['type'], FieldNames>> = {
  cloud: {
    type: 'cloud',
    word: 'Cloud',
    roles: 'cloud_roles',
    groups: 'cloud_groups',
    appRoles: 'cloud_app_roles',
    audiences: new Map(
      upstreamAudiences.map((name) => [name.replace('Azure', 'Cloud').replace('Microsoft', 'Vendor'), name]),
    ),
  },
  azure: {
    type: 'azure',
    word: 'Azure',
    roles: 'azure_roles',
    groups: 'azure_groups',
    appRoles: 'azure_app_roles',
    audiences: new Map(upstreamAudiences.map((name) => [name, name])),
  },
}

/** The names for a mount of this type. */
export const namesOf = ({ type }: { readonly type: string }): FieldNames =>
  type === 'azure' ? fieldNames.azure : fieldNames.cloud
