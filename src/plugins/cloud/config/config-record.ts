import { z } from 'zod'
import { authTypes } from '../../../config/cloud.ts'
import { recordReader } from '../../../core/records/stored-record.ts'
import { refuse } from '../../../errors.ts'
import { clientCertificate } from '../certificates/client-certificate.ts'

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

/** `key_id` is set if a rotation added it, and the directory has said so. */
const ownedCertificate = clientCertificate.extend({ key_id: z.string().exactOptional() })

const pendingCertificate = ownedCertificate.extend({
  /** Milliseconds since the epoch. */
  created: z.number(),
  application_object_id: z.string(),
})

const retiringKey = z.object({
  application_object_id: z.string(),
  /** SHA-1, in hexadecimal. */
  thumbprint: z.string(),
  key_id: z.string().exactOptional(),
  /** Milliseconds since the epoch. */
  not_before: z.number(),
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
  /** How the mount signs in; absent: by the first value that is set. */
  auth_type: z.enum(authTypes).exactOptional(),
  managed_identity_client_id: z.string().exactOptional(),
  root_application_object_id: z.string().exactOptional(),
  certificate: ownedCertificate.exactOptional(),
  /** Added to the application by a rotation, and not in use yet. */
  pending_certificate: pendingCertificate.exactOptional(),
  /** Former certificates whose keys the engine removes from the application. */
  retiring_keys: z.array(retiringKey).exactOptional(),
  /** Made for an operator, who uploads it by hand. docs/contract/cloud.md#certificates */
  made_certificate: clientCertificate.exactOptional(),
  /** Milliseconds since the epoch: when the period or schedule of automatic rotations starts. */
  rotation_counts_from: z.number().exactOptional(),
  /** The fields among `laterFields` that were ever sent. */
  sent_fields: z.array(z.string()).exactOptional(),
})

export type PendingSecret = z.output<typeof pendingSecret>
export type PendingCertificate = z.output<typeof pendingCertificate>
export type RetiringKey = z.output<typeof retiringKey>

/** The stored configuration of a mount. docs/contract/cloud.md#configuration */
export type ConfigRecord = z.output<typeof storedConfig>

/**
 * Fields that later versions of Vault's Azure engine added. Some clients compare whole responses, so a mount of type
 * `azure` shows them only once they were sent.
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

/** Seconds: 182 days. docs/contract/cloud.md#configuration */
export const defaultRootPasswordTtl = 15_724_800

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

/** Tells that a write discards the secret or certificate that `rotate-root` added to a configuration. */
export const discardedRotation = ({
  pending,
  pending_certificate,
}: Pick<ConfigRecord, 'pending' | 'pending_certificate'> = {}): string[] =>
  pending === undefined && pending_certificate === undefined
    ? []
    : ['a rotation of the root credential was in progress, which this write discards']

export const readConfigRecord = recordReader<ConfigRecord>('configuration of the cloud engine', storedConfig)

/** The refusal of a request that needs a configuration when there is none. */
export const configIsNil = () => refuse('invalid', 'config is nil')
