import { type CloudName, type EnvironmentSettings, findCloudName } from '../../../config/cloud.ts'

/** Addresses without a trailing slash, and the scopes of their tokens. docs/contract/cloud.md#endpoints */
export type Environment = {
  readonly name: CloudName
  readonly authorityHost: string
  /** Without `/v1.0`. */
  readonly directoryBase: string
  readonly directoryScope: string
  readonly resourceManagerBase: string
  readonly resourceManagerScope: string
  /** The audience of identity tokens that the login service accepts by default. */
  readonly identityTokenAudience: string
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

/**
 * By default the public cloud, with the operator's addresses, which are also the resources of those services, so the
 * scopes change with them. Undefined for an unknown name. docs/contract/cloud.md#endpoints
 */
export function findEnvironment(
  name: string | undefined,
  operator: EnvironmentSettings = {},
): Environment | undefined {
  const known = name === undefined ? 'public' : findCloudName(name)
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
