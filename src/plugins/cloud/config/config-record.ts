import { z } from 'zod'
import { fail, refuse } from '../../../errors.ts'

/** A secret that `rotate-root` added and that is not in use yet. docs/contract/cloud.md#root-rotation */
const pendingSecret = z.object({
  client_secret: z.string(),
  key_id: z.string(),
  /** Milliseconds since the epoch. */
  created: z.number(),
  /** RFC 3339. */
  expiration_date: z.string(),
  /** The root application, which holds the secret. */
  application_object_id: z.string(),
})

const storedConfig = z.object({
  subscription_id: z.string(),
  tenant_id: z.string(),
  client_id: z.string(),
  client_secret: z.string(),
  /** As written; empty means the public cloud. */
  environment: z.string(),
  /** Seconds; 0 means the default. */
  root_password_ttl: z.number(),
  identity_token_audience: z.string(),
  identity_token_ttl: z.number(),
  rotation_schedule: z.string(),
  /** Seconds; 0 means no limit. */
  rotation_window: z.number(),
  /** Seconds; 0 means never. */
  rotation_period: z.number(),
  rotation_policy: z.string(),
  disable_automated_rotation: z.boolean(),
  /** The key id of the secret if a rotation added it, else empty. */
  client_secret_key_id: z.string(),
  root_password_expiration_date: z.string().exactOptional(),
  pending: pendingSecret.exactOptional(),
  /** Milliseconds since the epoch: when the period or schedule of automatic rotations starts. */
  rotation_counts_from: z.number().exactOptional(),
  /** The fields among `laterFields` that were ever sent. */
  sent_fields: z.array(z.string()).exactOptional(),
})

export type PendingSecret = z.output<typeof pendingSecret>

/** The stored configuration of a mount. docs/contract/cloud.md#configuration */
export type ConfigRecord = z.output<typeof storedConfig>

/**
 * Fields that later versions of Vault's Azure engine added. Some clients compare the whole response, so a
 * mount of type `azure` shows these fields only once they were sent.
 */
export const laterFields = [
  'disable_automated_rotation',
  'identity_token_audience',
  'identity_token_ttl',
  'rotation_period',
  'rotation_policy',
  'rotation_schedule',
  'rotation_window',
] as const satisfies readonly (keyof ConfigRecord)[]

/**
 * The default lifetime of a rotated root secret, in seconds: 182 days. docs/contract/cloud.md#configuration
 */
export const defaultRootPasswordTtl = 15_724_800

/** The configuration of a mount that has none. */
export const emptyConfig: ConfigRecord = {
  subscription_id: '',
  tenant_id: '',
  client_id: '',
  client_secret: '',
  environment: '',
  root_password_ttl: 0,
  identity_token_audience: '',
  identity_token_ttl: 0,
  rotation_schedule: '',
  rotation_window: 0,
  rotation_period: 0,
  rotation_policy: '',
  disable_automated_rotation: false,
  client_secret_key_id: '',
}

/** Reads a stored configuration. Keeps fields of later versions. Throws kind `internal`. */
export function readConfigRecord(stored: unknown): ConfigRecord {
  const config = storedConfig.loose().safeParse(stored)
  if (!config.success)
    throw fail('internal', 'internal error', {
      cause: new Error('a stored configuration of the cloud engine has an invalid shape'),
    })
  return config.data
}

/** The refusal of a request that needs a configuration when there is none. */
export const configIsNil = () => refuse('invalid', 'config is nil')
