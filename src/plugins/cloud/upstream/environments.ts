/**
 * The addresses of a cloud's three services, without a trailing slash, and the scopes of their tokens.
 * docs/contract/cloud.md#endpoints.
 */
export type Environment = {
  readonly name: 'public' | 'us-government' | 'china'
  readonly authorityHost: string
  /** Without `/v1.0`. */
  readonly directoryBase: string
  readonly directoryScope: string
  readonly resourceManagerBase: string
  readonly resourceManagerScope: string
  /** The audience of identity tokens that the login service accepts by default. */
  readonly identityTokenAudience: string
}

/** The ways to sign in. docs/contract/cloud.md#sign-in */
export const authTypes = ['root_creds', 'certificate', 'plugin_wif', 'aks_wif', 'msi', 'msi_wif'] as const

export type AuthType = (typeof authTypes)[number]

export const isAuthType = (text: string): text is AuthType => authTypes.some((type) => type === text)

/**
 * The settings of the process for the cloud engine (`CLOUD_*`). Unset and empty variables are undefined. Only
 * the operator can set the addresses, the files and who gets the host's identity: they are not fields of the API.
 * docs/contract/cloud.md#effective-settings, docs/contract/cloud.md#endpoints.
 */
export type EnvironmentSettings = {
  readonly subscriptionId?: string | undefined
  readonly tenantId?: string | undefined
  readonly clientId?: string | undefined
  readonly clientSecret?: string | undefined
  readonly environment?: string | undefined
  readonly authorityHost?: string | undefined
  readonly directoryEndpoint?: string | undefined
  readonly resourceManagerEndpoint?: string | undefined
  readonly caFile?: string | undefined
  readonly authType?: AuthType | undefined
  readonly clientCertificatePath?: string | undefined
  readonly clientCertificatePassword?: string | undefined
  readonly metadataEndpoint?: string | undefined
  /** Full paths of mounts, separated by commas. */
  readonly hostIdentity?: string | undefined
  /** The platform sets these three. */
  readonly federatedTokenFile?: string | undefined
  readonly identityEndpoint?: string | undefined
  readonly identityHeader?: string | undefined
}

const environments: readonly Environment[] = [
  {
    name: 'public',
    authorityHost: 'https://login.microsoftonline.com',
    directoryBase: 'https://graph.microsoft.com',
    directoryScope: 'https://graph.microsoft.com/.default',
    resourceManagerBase: 'https://management.azure.com',
    // the double slash is part of the resource's name
    resourceManagerScope: 'https://management.core.windows.net//.default',
    identityTokenAudience: 'api://AzureADTokenExchange',
  },
  {
    name: 'us-government',
    authorityHost: 'https://login.microsoftonline.us',
    directoryBase: 'https://graph.microsoft.us',
    directoryScope: 'https://graph.microsoft.us/.default',
    resourceManagerBase: 'https://management.usgovcloudapi.net',
    resourceManagerScope: 'https://management.core.usgovcloudapi.net/.default',
    identityTokenAudience: 'api://AzureADTokenExchangeUSGov',
  },
  {
    name: 'china',
    authorityHost: 'https://login.chinacloudapi.cn',
    directoryBase: 'https://microsoftgraph.chinacloudapi.cn',
    directoryScope: 'https://microsoftgraph.chinacloudapi.cn/.default',
    resourceManagerBase: 'https://management.chinacloudapi.cn',
    resourceManagerScope: 'https://management.core.chinacloudapi.cn/.default',
    identityTokenAudience: 'api://AzureADTokenExchangeChina',
  },
]

/** Both spellings of each name, in any case. docs/contract/cloud.md#names */
const environmentNames: ReadonlyMap<string, Environment['name']> = new Map([
  ['azurepubliccloud', 'public'],
  ['cloudpubliccloud', 'public'],
  ['azureusgovernmentcloud', 'us-government'],
  ['cloudusgovernmentcloud', 'us-government'],
  ['azurechinacloud', 'china'],
  ['cloudchinacloud', 'china'],
])

/** Whether a configuration may use this name. docs/contract/cloud.md#writing-a-configuration */
export const isEnvironmentName = (name: string): boolean => environmentNames.has(name.toLowerCase())

/**
 * The environment of this name, by default the public cloud, with the operator's addresses. Undefined for an
 * unknown name. An operator's address is also the resource of that service, so the scope changes with it.
 * docs/contract/cloud.md#endpoints.
 */
export function findEnvironment(
  name: string | undefined,
  operator: EnvironmentSettings = {},
): Environment | undefined {
  const known = name === undefined ? 'public' : environmentNames.get(name.toLowerCase())
  const found = environments.find((environment) => environment.name === known)
  if (found === undefined) return undefined
  const { authorityHost, directoryEndpoint, resourceManagerEndpoint } = operator
  return {
    ...found,
    ...(authorityHost === undefined ? {} : { authorityHost }),
    ...(directoryEndpoint === undefined
      ? {}
      : { directoryBase: directoryEndpoint, directoryScope: `${directoryEndpoint}/.default` }),
    ...(resourceManagerEndpoint === undefined
      ? {}
      : {
          resourceManagerBase: resourceManagerEndpoint,
          resourceManagerScope: `${resourceManagerEndpoint}/.default`,
        }),
  }
}
