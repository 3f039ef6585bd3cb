import { isDeepStrictEqual } from 'node:util'
import type { EnvironmentSettings } from '../../../config/cloud.ts'
import type { IdentityTokenUse } from '../../../core/mounts/mount-type.ts'
import { fail, refuse } from '../../../errors.ts'
import { type ClientCertificate, hasEnded } from '../certificates/client-certificate.ts'
import { type Environment, findEnvironment, type UpstreamSettings } from '../upstream/index.ts'
import type { LoginSettings } from '../upstream/transport.ts'
import { chooseCredential, type SignInValues } from './choose-credential.ts'
import type { ConfigRecord } from './config-record.ts'

/**
 * The settings of the process. `caPem` is the content of `CLOUD_CA_FILE`, `certificate` that of
 * `CLOUD_CLIENT_CERTIFICATE_PATH`.
 */
export type OperatorSettings = EnvironmentSettings & {
  readonly caPem?: string | undefined
  readonly certificate?: ClientCertificate | undefined
}

/**
 * Whether the process supplies part of the root credential, which then cannot be rotated.
 * docs/contract/cloud.md#root-rotation
 */
export const suppliesCredential = ({ clientId, clientSecret, certificate }: OperatorSettings): boolean =>
  clientId !== undefined || clientSecret !== undefined || certificate !== undefined

export const effectiveClientId = (config: ConfigRecord | undefined, operator: OperatorSettings): string =>
  operator.clientId ?? config?.client_id ?? ''

export const effectiveClientSecret = (config: ConfigRecord | undefined, operator: OperatorSettings): string =>
  operator.clientSecret ?? config?.client_secret ?? ''

/** The effective values of everything that a mount can sign in with. */
export const signInValues = (
  config: ConfigRecord | undefined,
  operator: OperatorSettings,
  isHostOffered: boolean,
): SignInValues => ({
  authType: operator.authType ?? config?.auth_type ?? '',
  clientId: effectiveClientId(config, operator),
  clientSecret: effectiveClientSecret(config, operator),
  certificate: operator.certificate ?? config?.certificate,
  madeCertificate: config?.made_certificate,
  audience: config?.identity_token_audience ?? '',
  identityTokenTtl: config?.identity_token_ttl ?? 0,
  managedIdentityClientId: config?.managed_identity_client_id ?? '',
  tokenFile: operator.federatedTokenFile,
  isHostOffered,
})

/** What decides which root credential a configuration signs in with. */
type SignInFields = Pick<
  ConfigRecord,
  'tenant_id' | 'client_id' | 'client_secret' | 'environment' | 'certificate'
>

/** Whether two configurations sign in with the same root credential: their effective values count. */
export const hasSameCredential = (a: SignInFields, b: SignInFields, operator: OperatorSettings): boolean => {
  const [one, other] = [a, b].map((config) => ({
    tenant: (operator.tenantId ?? config.tenant_id).toLowerCase(),
    client: (operator.clientId ?? config.client_id).toLowerCase(),
    secret: operator.clientSecret ?? config.client_secret,
    certificate: (operator.certificate ?? config.certificate)?.thumbprint_sha256,
    environment: findEnvironment(operator.environment ?? (config.environment || undefined))?.name,
  }))
  return isDeepStrictEqual(one, other)
}

/** In place of a certificate that has ended, the one that an operator was to upload is used. */
export function withLiveCertificate(config: ConfigRecord | undefined, now: number): ConfigRecord | undefined {
  const made = config?.made_certificate
  return made !== undefined && config?.certificate !== undefined && hasEnded(config.certificate, now)
    ? { ...config, certificate: made }
    : config
}

/**
 * Settings of the process precede stored ones. Throws if one is missing. docs/contract/cloud.md#effective-settings
 */
export function effectiveSettings(
  config: ConfigRecord | undefined,
  operator: OperatorSettings,
  isHostOffered: boolean,
): UpstreamSettings {
  const subscriptionId = operator.subscriptionId ?? config?.subscription_id ?? ''
  if (subscriptionId === '') throw refuse('invalid', 'subscription_id is required')
  const tenantId = operator.tenantId ?? config?.tenant_id ?? ''
  if (tenantId === '') throw refuse('invalid', 'tenant_id is required')
  const environment = effectiveEnvironment(config, operator)
  const credential = chooseCredential(signInValues(config, operator, isHostOffered))
  if ('refusal' in credential) throw refuse('invalid', credential.refusal)
  return {
    subscriptionId,
    tenantId,
    clientId: credential.clientId,
    credential,
    environment,
    metadata: operator,
    caPem: operator.caPem,
  }
}

/** The login service of the mount's tenant, which needs no credential. Throws if a setting is missing. */
export function effectiveLogin(config: ConfigRecord | undefined, operator: OperatorSettings): LoginSettings {
  const tenantId = operator.tenantId ?? config?.tenant_id ?? ''
  if (tenantId === '') throw refuse('invalid', 'tenant_id is required')
  const { caPem } = operator
  return { tenantId, environment: effectiveEnvironment(config, operator), caPem }
}

/** The environment of a mount. Throws if its name is unknown. */
export function effectiveEnvironment(
  config: ConfigRecord | undefined,
  operator: OperatorSettings,
): Environment {
  const name = operator.environment ?? (config?.environment || undefined)
  const environment = findEnvironment(name, operator)
  if (environment === undefined) throw fail('internal', unknownEnvironment(name ?? ''))
  return environment
}

const defaultIdentityTokenTtl = 3600

/** The audience and lifetime of the identity tokens of a mount and its roles. docs/contract/cloud.md#identity-tokens */
export const identityTokenUse = (
  config: ConfigRecord | undefined,
  operator: OperatorSettings,
): IdentityTokenUse => ({
  audience: config?.identity_token_audience || effectiveEnvironment(config, operator).identityTokenAudience,
  ttl: config?.identity_token_ttl || defaultIdentityTokenTtl,
})

export const unknownEnvironment = (name: string): string =>
  `err: no cloud configuration matching the name "${name}"`
