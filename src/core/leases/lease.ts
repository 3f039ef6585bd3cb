import { fail } from '../../errors.ts'
import type { ViewEntry } from '../barrier/view.ts'

/** What an engine hands out with a secret so that it can be taken back. Spans are seconds, 0 is unset. docs/contract/leases.md#lifetime-and-renewal */
export type LeasedSecret = {
  readonly ttl: number
  readonly maxTtl: number
  readonly renewable: boolean
  /** What the engine needs to renew or revoke it; never shown. */
  readonly internal: Readonly<Record<string, unknown>>
  /** Written in one step with the lease, entries from the root: what the engine keeps until there is a lease, or from then on. */
  alongside?(lease: LeaseRef): readonly ViewEntry[]
  /** Told when no lease of it could be stored: the engine makes sure that nothing of the secret is left. */
  abandoned?(): void
}

/**
 * A secret that was handed out, as stored: enough to take it back, and nothing of what the caller got. Times are milliseconds since the epoch. Token leases
 * are no records: see token-leases.ts. docs/contract/leases.md#what-has-a-lease.
 */
export type Lease = {
  /** Request path, slash, 24 base62 characters, and what ids of the namespace end in. */
  readonly id: string
  /** Namespace id. */
  readonly namespace: string
  /** Request path that made it. */
  readonly path: string
  /** Name the engine registered its backend under. */
  readonly plugin: string
  readonly mount_accessor: string
  /** Hash of the token it ends with; empty when it belongs to nobody. */
  readonly owner: string
  /** End of the batch token that asked for it: it never lasts longer. */
  readonly owner_end?: number
  /** Entity of the batch token that asked for it, and how many cut-offs the token carried: nothing of such a token is stored anywhere else. */
  readonly entity?: string
  readonly cut_off?: number
  readonly issue_time: number
  readonly expire_time: number
  /** It was ended before its time, or its end was acted upon: over, wherever the clock is set. docs/operations.md#time */
  readonly ended?: true
  readonly last_renewal?: number
  readonly renewable: boolean
  readonly internal: LeasedSecret['internal']
  /** Its revocation failed and is tried again at `at`. */
  readonly retry?: { readonly at: number; readonly failures: number }
  /** Why it is irrevocable. */
  readonly revoke_error?: string
}

/** Names a lease. Without its namespace an id means nothing. */
export type LeaseRef = Pick<Lease, 'namespace' | 'id'>

export const isIrrevocable = (lease: Lease): boolean => lease.revoke_error !== undefined

export const isOver = (lease: Lease, now: number): boolean => lease.ended === true || lease.expire_time <= now

const isText = (value: unknown): value is string => typeof value === 'string'
const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)

/** A stored record as a lease. The record was sealed by this server: only its outline is checked. Throws kind `internal`. */
export function readLease(value: unknown): Lease {
  if (!looksLikeLease(value)) throw fail('internal', 'internal error', { cause: new Error('a stored lease has not the shape of one') })
  return value
}

function looksLikeLease(value: unknown): value is Lease {
  if (typeof value !== 'object' || value === null) return false
  const lease: Partial<Record<keyof Lease, unknown>> = value
  return (
    [lease.id, lease.namespace, lease.path, lease.plugin, lease.mount_accessor, lease.owner].every(isText) &&
    [lease.issue_time, lease.expire_time].every(isCount) &&
    typeof lease.renewable === 'boolean' &&
    typeof lease.internal === 'object'
  )
}
