import { z } from 'zod'

/** Which requests one rule counts together: those of one client address, or all. */
export const groupings = ['ip', 'none'] as const

/** What a rule is about: of all rules that cover something, the most specific one decides. */
export type QuotaPlace = {
  readonly name: string
  /** The id of the namespace that it limits; empty for a rule on a mount. */
  readonly namespace: string
  /** The UUID of the mount, which a move keeps; empty for a rule on a namespace. */
  readonly mount: string
  /** A path below the mount, or a glob that ends in `*`; empty for the whole mount. */
  readonly suffix: string
  /** Limits logins with this role only. */
  readonly role: string
  /** A rule on a namespace that also limits the namespaces below it. */
  readonly inheritable: boolean
}

/** A limit on the rate of requests. docs/contract/quotas.md */
export type Quota = QuotaPlace & {
  /** Requests per interval; fractions count as a whole request. */
  readonly rate: number
  /** In seconds. */
  readonly interval: number
  /** For how long a client that exceeds the rate is refused, in seconds; 0: until its interval ends. */
  readonly blockInterval: number
  readonly groupBy: (typeof groupings)[number]
}

/** A limit on the number of live leases, tokens included. docs/contract/quotas.md#leases */
export type LeaseQuota = QuotaPlace & { readonly maxLeases: number }

/** Settings of all rate limits. */
export type QuotaConfig = {
  /** Prefixes of paths that no rule limits. */
  readonly exemptPaths: readonly string[]
  /** The same, with the namespace in front. */
  readonly absoluteExemptPaths: readonly string[]
  readonly auditsRefusals: boolean
  readonly showsHeaders: boolean
}

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

const storedPlace = z.object({
  name: z.string(),
  namespace: z.string(),
  mount: z.string(),
  suffix: z.string(),
  role: z.string(),
  inheritable: z.boolean(),
})
const storedQuota = storedPlace.extend({
  rate: z.number(),
  interval: z.number(),
  blockInterval: z.number(),
  // rules of earlier versions have none
  groupBy: z.enum(groupings).default('ip'),
})
const storedLeaseQuota = storedPlace.extend({ maxLeases: z.number() })
const storedConfig = z.object({
  exemptPaths: z.array(z.string()),
  absoluteExemptPaths: z.array(z.string()).default([]),
  auditsRefusals: z.boolean(),
  showsHeaders: z.boolean(),
})

/** Parses a stored record; throws if it is invalid. */
export const readQuota = (record: unknown): Quota => storedQuota.parse(record)

/** Parses a stored record; throws if it is invalid. */
export const readLeaseQuota = (record: unknown): LeaseQuota => storedLeaseQuota.parse(record)

/** Parses a stored record; throws if it is invalid. */
export const readQuotaConfig = (record: unknown): QuotaConfig => storedConfig.parse(record)
