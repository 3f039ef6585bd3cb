import { z } from 'zod'
import type { ViewEntry } from '../barrier/view.ts'
import { recordReader } from '../records/stored-record.ts'
import type { CountedLease } from './lease-limit.ts'

/**
 * The lease terms of a secret that an engine returns. Durations are seconds; 0 is unset.
 * docs/contract/leases.md#lifetime-and-renewal
 */
export type LeasedSecret = {
  readonly ttl: number
  readonly maxTtl: number
  readonly renewable: boolean
  /** Data that the engine needs for renewal and revocation; never shown. */
  readonly internal: Readonly<Record<string, unknown>>
  /** Identifies its creation in logs of the upstream service; the audit log shows it. */
  readonly correlationId?: string
  /** The engine's entries to write together with the lease, with keys from the storage root. */
  alongside?(lease: LeaseRef): readonly ViewEntry[]
  /** Called if its lease could not be stored: the engine must make sure that the secret is removed. */
  abandoned?(): void
}

/**
 * The stored lease of a secret: the data needed to revoke the secret, without the response. Times are
 * milliseconds since the epoch. Token leases are not stored: see token-leases.ts.
 * docs/contract/leases.md#what-has-a-lease
 */
export type Lease = {
  /** Request path, slash, 24 base62 characters and the id suffix of the namespace. */
  readonly id: string
  /** Namespace id. */
  readonly namespace: string
  /** Path of the request that created it. */
  readonly path: string
  /** Plugin name of the engine's backend. */
  readonly plugin: string
  readonly mount_accessor: string
  /** Hash of the token whose end revokes it; empty if there is none. */
  readonly owner: string
  /** Expiry time of the batch token that requested it; the lease does not outlive the token. */
  readonly owner_end?: number
  /**
   * Entity and cut-off count of the batch token that requested it; batch tokens themselves are not stored.
   */
  readonly entity?: string
  readonly cut_off?: number
  /** Accessor and number of moves of the mount that issued that batch token: its end is the token's. */
  readonly login_mount?: string
  readonly login_moves?: number
  readonly issue_time: number
  readonly expire_time: number
  /**
   * It was ended early, or its expiry was noticed: it remains expired even if the clock is set back.
   * docs/operations.md#time
   */
  readonly ended?: true
  readonly last_renewal?: number
  readonly renewable: boolean
  readonly internal: LeasedSecret['internal']
  /** Its revocation failed and will be retried at `at`. */
  readonly retry?: { readonly at: number; readonly failures: number }
  /** Why it is irrevocable. */
  readonly revoke_error?: string
}

/** Identifies a lease: ids are relative to a namespace. */
export type LeaseRef = Pick<Lease, 'namespace' | 'id'>

export const isIrrevocable = (lease: Lease): boolean => lease.revoke_error !== undefined

/** The lease as rules on the number of leases see it. docs/contract/quotas.md#leases */
export const countedLease = ({ namespace, id, mount_accessor, path }: Lease): CountedLease => ({
  ref: `${namespace}/${id}`,
  namespace,
  mountAccessor: mount_accessor,
  path,
  role: undefined,
})

export const hasEnded = (lease: Lease, now: number): boolean =>
  lease.ended === true || lease.expire_time <= now

/** Reads a stored record as a lease. */
export const readLease = recordReader<Lease>(
  'lease',
  z.object({
    id: z.string(),
    namespace: z.string(),
    path: z.string(),
    plugin: z.string(),
    mount_accessor: z.string(),
    owner: z.string(),
    issue_time: z.number(),
    expire_time: z.number(),
    renewable: z.boolean(),
    internal: z.looseObject({}),
  }),
)
