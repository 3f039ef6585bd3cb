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
}

/**
 * The settings of the process for the cloud engine (`CLOUD_*`). Unset and empty variables are undefined. Only
 * the operator can set the last four: they are not fields of the API.
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
  },
  {
    name: 'us-government',
    authorityHost: 'https://login.microsoftonline.us',
    directoryBase: 'https://graph.microsoft.us',
    directoryScope: 'https://graph.microsoft.us/.default',
    resourceManagerBase: 'https://management.usgovcloudapi.net',
    resourceManagerScope: 'https://management.core.usgovcloudapi.net/.default',
  },
  {
    name: 'china',
    authorityHost: 'https://login.chinacloudapi.cn',
    directoryBase: 'https://microsoftgraph.chinacloudapi.cn',
    directoryScope: 'https://microsoftgraph.chinacloudapi.cn/.default',
    resourceManagerBase: 'https://management.chinacloudapi.cn',
    resourceManagerScope: 'https://management.core.chinacloudapi.cn/.default',
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
