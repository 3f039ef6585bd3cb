import { z } from 'zod'
import { optional, type Setting, secret } from './setting.ts'

/** Base URL of a service, with an optional path. Parsed to a string without a trailing slash. */
const baseUrl = (protocol: RegExp, example: string) =>
  z
    .string()
    .transform((text) => URL.parse(text))
    .refine(
      (url) => url !== null && protocol.test(url.protocol) && url.href === `${url.origin}${url.pathname}`,
      `must be a URL like ${example}`,
    )
    .transform((url) => url?.href.replace(/\/$/, '') ?? '')

/** https only, because it receives secrets. */
const serviceAddress = baseUrl(/^https:$/, 'https://login.example.com')

/** A service on the machine itself. */
const plainAddress = baseUrl(/^https?:$/, 'http://169.254.169.254')

export type CloudName = 'public' | 'us-government' | 'china'

/** Both spellings of each name, in any case. docs/contract/cloud.md#names */
const cloudNames: ReadonlyMap<string, CloudName> = new Map([
  ['azurepubliccloud', 'public'],
  ['cloudpubliccloud', 'public'],
  ['azureusgovernmentcloud', 'us-government'],
  ['cloudusgovernmentcloud', 'us-government'],
  ['azurechinacloud', 'china'],
  ['cloudchinacloud', 'china'],
])

export const findCloudName = (name: string): CloudName | undefined => cloudNames.get(name.toLowerCase())

/** Whether a configuration may use this name. docs/contract/cloud.md#writing-a-configuration */
export const isEnvironmentName = (name: string): boolean => findCloudName(name) !== undefined

/** The ways to sign in. docs/contract/cloud.md#sign-in */
export const authTypes = ['root_creds', 'certificate', 'plugin_wif', 'aks_wif', 'msi', 'msi_wif'] as const

export type AuthType = (typeof authTypes)[number]

export const isAuthType = (text: string): text is AuthType => authTypes.some((type) => type === text)

const cloudName = z
  .string()
  .refine(isEnvironmentName, 'must be CloudPublicCloud, CloudUSGovernmentCloud or CloudChinaCloud')

/**
 * Environment variables of the cloud engine, under the names its users know; an empty value means unset.
 * docs/contract/cloud.md#effective-settings, docs/contract/cloud.md#endpoints
 */
export const cloudSettings = {
  subscriptionId: optional(
    z.string(),
    'CLOUD_SUBSCRIPTION_ID',
    'subscription of every cloud mount; overrides its config',
  ),
  tenantId: optional(z.string(), 'CLOUD_TENANT_ID', 'tenant of every cloud mount; overrides its config'),
  clientId: optional(
    z.string(),
    'CLOUD_CLIENT_ID',
    'client id of the root credential; overrides the config of cloud mounts',
  ),
  clientSecret: secret(
    z.string(),
    'CLOUD_CLIENT_SECRET',
    'secret of the root credential; overrides the config of cloud mounts',
  ),
  environment: optional(
    cloudName,
    'CLOUD_ENVIRONMENT',
    'CloudPublicCloud, CloudUSGovernmentCloud or CloudChinaCloud; overrides the config of cloud mounts',
  ),
  authorityHost: optional(
    serviceAddress,
    'CLOUD_AUTHORITY_HOST',
    'login service of a private cloud, an https URL',
  ),
  directoryEndpoint: optional(
    serviceAddress,
    'CLOUD_DIRECTORY_ENDPOINT',
    'directory API of a private cloud, an https URL without /v1.0',
  ),
  resourceManagerEndpoint: optional(
    serviceAddress,
    'CLOUD_RESOURCE_MANAGER_ENDPOINT',
    'resource manager of a private cloud, an https URL',
  ),
  caFile: optional(z.string(), 'CLOUD_CA_FILE', 'PEM file of additional CA certificates for these services'),
  authType: optional(
    z.enum(authTypes, { error: `must be one of ${authTypes.join(', ')}` }),
    'CLOUD_AUTH_TYPE',
    'how every cloud mount signs in; overrides auth_type of its config',
  ),
  clientCertificatePath: optional(
    z.string(),
    'CLOUD_CLIENT_CERTIFICATE_PATH',
    'file with the certificate of the root credential and its key: PEM or PFX; overrides the config of cloud mounts',
  ),
  clientCertificatePassword: secret(z.string(), 'CLOUD_CLIENT_CERTIFICATE_PASSWORD', 'password of that file'),
  metadataEndpoint: optional(
    plainAddress,
    'CLOUD_METADATA_ENDPOINT',
    'metadata service that has the identity of the machine; by default `http://169.254.169.254`',
  ),
  hostIdentity: optional(
    z.string(),
    'CLOUD_HOST_IDENTITY',
    'full paths of mounts outside of the root namespace that may sign in as the machine, separated by commas, such as team/cloud/',
  ),
  federatedTokenFile: optional(
    z.string(),
    'AZURE_FEDERATED_TOKEN_FILE',
    'file with the token of a Kubernetes service account; set by Azure Workload Identity',
  ),
  identityEndpoint: optional(
    plainAddress,
    'IDENTITY_ENDPOINT',
    'metadata service of an application platform; set by the platform together with `IDENTITY_HEADER`',
  ),
  identityHeader: secret(
    z.string(),
    'IDENTITY_HEADER',
    'what that service requires of its clients; set by the platform',
  ),
} satisfies Record<string, Setting>

/**
 * The settings of the process for the cloud engine (`CLOUD_*`). Unset and empty variables are undefined. Only
 * the operator can set the addresses, the files and who gets the host's identity: they are not fields of the API.
 * docs/contract/cloud.md#effective-settings, docs/contract/cloud.md#endpoints.
 */
export type EnvironmentSettings = {
  readonly [Name in keyof typeof cloudSettings]?: z.output<(typeof cloudSettings)[Name]['schema']> | undefined
}
