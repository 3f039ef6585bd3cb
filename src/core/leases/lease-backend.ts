import { ServiceError } from '../../errors.ts'
import type { ViewEntry } from '../barrier/view.ts'
import type { Lease } from './lease.ts'

/** An engine's current terms for a renewal. Durations are seconds; 0 is unset. */
export type Renewal = {
  readonly ttl: number
  readonly maxTtl: number
  /** New value of the lease's flag. */
  readonly renewable?: boolean
  /** Replaces the engine's data in the lease. */
  readonly internal?: Lease['internal']
  /** `data` of the response. */
  readonly data?: object | null
}

/** Renews and revokes the leases of an engine's mounts. `signal` is aborted at the time limit of the call. */
export interface LeaseBackend {
  /**
   * Undefined if there is nothing to renew: the lease does not change. The caller receives the text of an
   * error.
   */
  renew(lease: Lease, signal: AbortSignal): Promise<Renewal | undefined>
  /**
   * Revokes the secret; may be called again for a secret that is already revoked. After an error the server
   * retries, unless it is a ServiceError of kind `invalid`, `unsupported` or `missing`.
   */
  revoke(lease: Lease, signal: AbortSignal): Promise<void>
  /**
   * What the engine stores about a lease that is deleted by force because it could not be revoked, if
   * anything.
   */
  dropping?(lease: Lease): Dropping | undefined
}

/**
 * `alongside` is written together with the deletion of the lease. `dropped` is called afterwards, even if the
 * write failed, and the caller of the revocation waits for it.
 */
export type Dropping = { readonly alongside: readonly ViewEntry[]; dropped(): Promise<void> }

/** Whether a retry cannot succeed. docs/contract/leases.md#retries */
export const isUnrecoverable = (cause: unknown): boolean =>
  cause instanceof ServiceError &&
  (cause.kind === 'invalid' || cause.kind === 'unsupported' || cause.kind === 'missing')

/** The text of a failure for callers and lists. Hides the details of unexpected errors. */
export const failureText = (cause: unknown): string =>
  cause instanceof ServiceError ? cause.message : 'internal error'
