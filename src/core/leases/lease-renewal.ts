import { refuse } from '../../errors.ts'
import { lifetime, type TtlBounds } from '../tokens/store/lifetime.ts'
import { hasEnded, isIrrevocable, type Lease } from './lease.ts'
import type { Renewal } from './lease-backend.ts'

/** Why no renewal of this lease is possible. docs/contract/leases.md#lifetime-and-renewal */
export function renewalRefusal(lease: Lease, now: number): string | undefined {
  if (isIrrevocable(lease)) return 'lease is expired and has failed previous revocation attempts'
  if (hasEnded(lease, now)) return 'lease expired'
  return lease.renewable ? undefined : 'lease is not renewable'
}

/**
 * The renewed lease, with warnings if its TTL was capped. Throws `invalid` at the max TTL.
 * docs/contract/tokens-and-policies.md#lifetimes, docs/contract/leases.md#lifetime-and-renewal
 */
export function renewed(
  lease: Lease,
  terms: Renewal & { readonly increment: number },
  bounds: TtlBounds,
  now: number,
): { lease: Lease; warnings: string[] } {
  const life = lifetime(bounds, terms, now, lease.issue_time)
  if (!life.ok) throw refuse('invalid', life.reason)
  const after: Lease = {
    ...lease,
    expire_time: cutToOwner(now + life.ttl * 1000, lease.owner_end),
    last_renewal: now,
    renewable: terms.renewable ?? lease.renewable,
    internal: terms.internal ?? lease.internal,
  }
  return { lease: after, warnings: life.warnings }
}

/** Leases of a batch token do not outlive it. docs/contract/tokens-and-policies.md#batch-tokens */
export const cutToOwner = (end: number, ownerEnd: number | null | undefined): number =>
  Math.min(end, ownerEnd ?? Number.POSITIVE_INFINITY)

/** `lease_duration`, rounded to the nearest second. docs/contract/leases.md#lifetime-and-renewal */
export const shownDuration = (lease: Lease, now: number): number =>
  Math.round((lease.expire_time - now) / 1000)
