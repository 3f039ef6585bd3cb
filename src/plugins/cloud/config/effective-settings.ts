import { fail, refuse } from '../../../errors.ts'
import type { ConfigRecord } from './config-record.ts'
import { type EnvironmentSettings, findEnvironment, type UpstreamSettings } from '../upstream/index.ts'

/**
 * The operator's settings, from the environment of the process. `caPem` is the content of `CLOUD_CA_FILE`.
 */
export type OperatorSettings = EnvironmentSettings & { readonly caPem?: string | undefined }

/**
 * Whether the environment of the process supplies part of the root credential, which then cannot be rotated.
 * docs/contract/cloud.md#root-rotation
 */
export const suppliesCredential = ({ clientId, clientSecret }: OperatorSettings): boolean =>
  clientId !== undefined || clientSecret !== undefined

export const effectiveClientId = (config: ConfigRecord | undefined, operator: OperatorSettings): string =>
  operator.clientId ?? config?.client_id ?? ''

export const effectiveClientSecret = (config: ConfigRecord | undefined, operator: OperatorSettings): string =>
  operator.clientSecret ?? config?.client_secret ?? ''

/**
 * What a mount signs in with. Settings of the process take precedence over stored ones. Throws if a setting
 * is missing. docs/contract/cloud.md#effective-settings
 */
export function effectiveSettings(
  config: ConfigRecord | undefined,
  operator: OperatorSettings,
): UpstreamSettings {
  const subscriptionId = operator.subscriptionId ?? config?.subscription_id ?? ''
  if (subscriptionId === '') throw refuse('invalid', 'subscription_id is required')
  const tenantId = operator.tenantId ?? config?.tenant_id ?? ''
  if (tenantId === '') throw refuse('invalid', 'tenant_id is required')
  const name = operator.environment ?? (config?.environment || undefined)
  const environment = findEnvironment(name, operator)
  if (environment === undefined) throw fail('internal', unknownEnvironment(name ?? ''))
  const clientId = effectiveClientId(config, operator)
  const clientSecret = effectiveClientSecret(config, operator)
  if (clientId === '') throw refuse('invalid', 'client_id is required')
  if (clientSecret === '') throw refuse('invalid', 'client_secret is required')
  return {
    subscriptionId,
    tenantId,
    clientId,
    clientSecret,
    environment,
    ...(operator.caPem === undefined ? {} : { caPem: operator.caPem }),
  }
}

export const unknownEnvironment = (name: string): string =>
  `err: no cloud configuration matching the name "${name}"`
