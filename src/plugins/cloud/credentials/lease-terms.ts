import type { Lease } from '../../../core/leases/lease.ts'
import type { Renewal } from '../../../core/leases/lease-backend.ts'
import { refuse } from '../../../errors.ts'
import { type LeaseData, readLeaseData, required } from '../records/lease-data.ts'
import type { RoleRecord } from '../roles/role-record.ts'

/** Earlier versions did not store when a secret ends: all lasted ten years. docs/contract/cloud.md#renewal */
const oldSecretMs = 10 * 365 * 24 * 3600 * 1000

export const roleOf = (lease: Pick<Lease, 'internal'>): string => required('role', readLeaseData(lease).role)

/**
 * From the role as it is now, limited by the end of the secret; maxima count from the issue.
 * docs/contract/cloud.md#renewal
 */
export function renewalTerms(lease: Lease, role: RoleRecord, now: number): Renewal {
  const stored = readLeaseData(lease).key_end_date
  const endsAt = stored === undefined ? lease.issue_time + oldSecretMs : Date.parse(stored)
  if (Number.isNaN(endsAt)) throw refuse('invalid', `cannot parse 'key_end_date' to timestamp`)
  const life = Math.floor((endsAt - lease.issue_time) / 1000)
  const left = Math.floor((endsAt - now) / 1000)
  if (left <= 0) throw refuse('invalid', 'past the end of the secret, cannot renew')
  return {
    ttl: role.ttl === 0 ? 0 : Math.min(role.ttl, left),
    maxTtl: role.max_ttl === 0 ? life : Math.min(role.max_ttl, life),
    renewable: role.ttl < left,
    ...(stored === undefined
      ? { internal: { ...lease.internal, key_end_date: new Date(endsAt).toISOString() } }
      : {}),
  }
}

/**
 * The maximum is the smallest of `max_ttl`, `explicit_max_ttl` and the rest of the life of the secret, which began
 * before the wait for its readiness. docs/contract/cloud.md#leases
 */
export function issueTerms(
  { ttl, max_ttl: maxTtl, explicit_max_ttl: explicit }: RoleRecord,
  { key_end_date: end }: Pick<LeaseData, 'key_end_date'>,
  now: number,
): { ttl: number; maxTtl: number } {
  const left = Math.ceil((Date.parse(end) - now) / 1000)
  // ignore an end that is invalid or already past
  const limits = [maxTtl, explicit, left].filter((limit) => limit > 0)
  return { ttl, maxTtl: limits.length === 0 ? 0 : Math.min(...limits) }
}
