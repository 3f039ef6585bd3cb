import { z } from 'zod'

/** Which requests one rule counts together: those of one client address, or all. */
export const groupings = ['ip', 'none'] as const

const storedPlace = z.object({
  name: z.string(),
  /** The id of the namespace that it limits; empty for a rule on a mount. */
  namespace: z.string(),
  /** The UUID of the mount, which a move keeps; empty for a rule on a namespace. */
  mount: z.string(),
  /** A path below the mount, or a glob that ends in `*`; empty for the whole mount. */
  suffix: z.string(),
  /** Limits logins with this role only. */
  role: z.string(),
  /** A rule on a namespace that also limits the namespaces below it. */
  inheritable: z.boolean(),
})

/** What a rule is about: of all rules that cover something, the most specific one decides. */
export type QuotaPlace = Readonly<z.output<typeof storedPlace>>

const storedQuota = storedPlace.extend({
  /** Requests per interval; fractions count as a whole request. */
  rate: z.number(),
  /** In seconds. */
  interval: z.number(),
  /** For how long a client that exceeds the rate is refused, in seconds; 0: until its interval ends. */
  blockInterval: z.number(),
  // rules of earlier versions have none
  groupBy: z.enum(groupings).default('ip'),
})

/** A limit on the rate of requests. docs/contract/quotas.md */
export type Quota = Readonly<z.output<typeof storedQuota>>

const storedLeaseQuota = storedPlace.extend({ maxLeases: z.number() })

/** A limit on the number of live leases, tokens included. docs/contract/quotas.md#leases */
export type LeaseQuota = Readonly<z.output<typeof storedLeaseQuota>>

const storedConfig = z.object({
  /** Prefixes of paths that no rule limits. */
  exemptPaths: z.array(z.string()).readonly(),
  /** The same, with the namespace in front. */
  absoluteExemptPaths: z.array(z.string()).readonly().default([]),
  auditsRefusals: z.boolean(),
  showsHeaders: z.boolean(),
})

/** Settings of all rate limits. */
export type QuotaConfig = Readonly<z.output<typeof storedConfig>>

export const defaultQuotaConfig: QuotaConfig = {
  exemptPaths: [
    'sys/generate-recovery-token/attempt',
    'sys/generate-recovery-token/update',
    'sys/generate-root/attempt',
    'sys/generate-root/update',
    'sys/health',
    'sys/seal-status',
    'sys/unseal',
  ],
  absoluteExemptPaths: [],
  auditsRefusals: false,
  showsHeaders: false,
}

// these throw for an invalid record
export const readQuota = (record: unknown): Quota => storedQuota.parse(record)
export const readLeaseQuota = (record: unknown): LeaseQuota => storedLeaseQuota.parse(record)
export const readQuotaConfig = (record: unknown): QuotaConfig => storedConfig.parse(record)
