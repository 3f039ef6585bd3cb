import { z } from 'zod'
import type { Mount } from '../../core/mounts/mount.ts'
import { parseDuration } from '../../lib/text/go-duration.ts'

const leastReapPeriod = 60
/** A hundred years: directories accept no more, and the end must be a valid date. */
const mostSecretLifetime = 100 * 365 * 86_400

/** A duration in seconds; `unset` also stands for one that cannot be read. */
const seconds = (unset: number) =>
  z
    .string()
    .transform((text) => parseDuration(text))
    .transform((parsed) => ('seconds' in parsed ? parsed.seconds : unset))
    .catch(unset)

/** The engine's options of a mount, set with `sys/mounts/…/tune`. Invalid values count as unset. */
const optionFields = z.object({
  /** Default of the request field `wait`: whether a credential is returned once it works. */
  wait: z.enum(['ready', 'none']).catch('none'),
  wait_limit: seconds(60),
  on_timeout: z.enum(['return', 'revoke']).catch('return'),
  /** How many credentials are created at a time. */
  max_in_flight: z.coerce
    .number()
    .int()
    .min(1)
    .catch(8)
    .transform((most) => Math.min(most, 64)),
  /** 0: only on request. */
  reap_period: seconds(0).transform((period) => (period === 0 ? 0 : Math.max(period, leastReapPeriod))),
  /** How long a secret works upstream if its role sets no limit. 0: as long as its lease can last plus a day. */
  secret_lifetime: seconds(0).transform((lifetime) => Math.min(lifetime, mostSecretLifetime)),
  /** Sent with each application that is created, for tenants that require one. */
  service_management_reference: z
    .string()
    .optional()
    .transform((reference) => reference || undefined),
  /** Whether roles may list app roles that lead to every permission in the tenant. */
  allow_privileged_app_roles: z
    .string()
    .optional()
    .transform((text) => text === 'true'),
})

export type EngineOptions = z.output<typeof optionFields>

export const engineOptions = ({ options }: Pick<Mount, 'options'>): EngineOptions =>
  optionFields.parse(options ?? {})
