import { ServiceError } from '../../errors.ts'
import type { ViewEntry } from '../barrier/view.ts'
import type { Lease } from './lease.ts'

/** What a renewal is to be: an engine's current terms. Spans are seconds, 0 is unset. */
export type Renewal = {
  readonly ttl: number
  readonly maxTtl: number
  /** Changes the lease's flag. */
  readonly renewable?: boolean
  /** Replaces what the engine keeps with the lease. */
  readonly internal?: Lease['internal']
  /** `data` of the answer. */
  readonly data?: object | null
}

/** What an engine does for the leases of its mounts. `signal` ends with the time the call may take. */
export interface LeaseBackend {
  /** Undefined: nothing to renew any more, the lease stays as it is. What it throws is the caller's answer. */
  renew(lease: Lease, signal: AbortSignal): Promise<Renewal | undefined>
  /**
   * Takes the secret back; may be called again for one that is gone already. What it throws is a failure: tried again, unless it is a ServiceError of kind
   * `invalid`, `unsupported` or `missing`, which no repetition will cure.
   */
  revoke(lease: Lease, signal: AbortSignal): Promise<void>
  /**
   * What the engine has to remember of a lease that is dropped by force, since it could not be revoked.
   * Undefined: nothing.
   */
  dropping?(lease: Lease): Dropping | undefined
}

/**
 * `alongside` is written in the step that drops the lease; `dropped` is called after it, also when it is not
 * known whether it is stored.
 */
export type Dropping = { readonly alongside: readonly ViewEntry[]; dropped(): void }

/** docs/contract/leases.md#retries: failures that are no use trying again. */
export const isUnrecoverable = (cause: unknown): boolean =>
  cause instanceof ServiceError && (cause.kind === 'invalid' || cause.kind === 'unsupported' || cause.kind === 'missing')

/** A failure in words for callers and lists; of a bug only that it is one. */
export const failureText = (cause: unknown): string => (cause instanceof ServiceError ? cause.message : 'internal error')
