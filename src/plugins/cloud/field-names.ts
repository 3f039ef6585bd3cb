/** The values of `sign_in_audience` upstream, in the order of error texts. */
const upstreamAudiences = [
  'AzureADMyOrg',
  'AzureADMultipleOrgs',
  'AzureADandPersonalMicrosoftAccount',
  'PersonalMicrosoftAccount',
] as const

const azureAudiences: readonly [sent: string, upstream: string][] = upstreamAudiences.map((name) => [
  name,
  name,
])
const cloudAudiences = azureAudiences.map(
  ([sent, name]) => [sent.replace('Azure', 'Cloud').replace('Microsoft', 'Vendor'), name] as const,
)

/** All in which mounts of type `cloud` and `azure` differ. docs/contract/cloud.md#names */
export const fieldNames = {
  cloud: {
    type: 'cloud',
    word: 'Cloud',
    roles: 'cloud_roles',
    groups: 'cloud_groups',
    appRoles: 'cloud_app_roles',
    audiences: new Map(cloudAudiences),
  },
  azure: {
    type: 'azure',
    word: 'Azure',
    roles: 'azure_roles',
    groups: 'azure_groups',
    appRoles: 'azure_app_roles',
    audiences: new Map(azureAudiences),
  },
} as const

export type FieldNames = (typeof fieldNames)[keyof typeof fieldNames]

export const namesOf = ({ type }: { readonly type: string }): FieldNames =>
  type === 'azure' ? fieldNames.azure : fieldNames.cloud
