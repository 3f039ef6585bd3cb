import type { IdentityTokenUse } from '../../../core/mounts/mount-type.ts'
import type { ConfigRecord } from '../config/config-record.ts'
import { effectiveEnvironment, type OperatorSettings } from '../config/effective-settings.ts'

const defaultTtl = 3600

/**
 * The audience and lifetime of the identity tokens of a mount and its roles.
 * docs/contract/cloud.md#identity-tokens
 */
export const identityTokenUse = (
  config: ConfigRecord | undefined,
  operator: OperatorSettings,
): IdentityTokenUse => ({
  audience: config?.identity_token_audience || effectiveEnvironment(config, operator).identityTokenAudience,
  ttl: config?.identity_token_ttl || defaultTtl,
})
