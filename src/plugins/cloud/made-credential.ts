import type { LeaseData } from './lease-data.ts'
import type { RoleRecord } from './role-record.ts'

/** A credential that exists upstream and has no lease yet. */
export type MadeCredential = {
  readonly data: LeaseData
  readonly secret: string
  /** What undoes it; they end with the write that stores its lease. */
  readonly intents: readonly string[]
}

/** Lifetime of a secret upstream, in seconds, when the role says nothing. Contract cloud-engine §4.1. */
const defaultSecretTtl = 87_600 * 3600

/** When a new secret of the role ends upstream, RFC 3339. */
export const secretEnd = ({ explicit_max_ttl: limit }: RoleRecord, now: number): string =>
  new Date(now + (limit === 0 ? defaultSecretTtl : limit) * 1000).toISOString()
