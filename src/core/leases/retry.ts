import { hasEnded, type Lease } from './lease.ts'
import { failureText, isUnrecoverable } from './lease-backend.ts'

const maxFailures = 6
const maxErrorLength = 240

/**
 * Delay in milliseconds after failure n: 20, 40, 80, 160, 320 s, each ± 50 %. `fraction` is a random number
 * from 0 to 1. docs/contract/leases.md#retries
 */
export const retryDelayMs = (failure: number, fraction: number): number =>
  2 ** failure * 10_000 * (0.5 + fraction)

/**
 * The lease after a failed revocation: scheduled for a retry, or irrevocable. Undefined (unchanged) if it is
 * irrevocable already.
 */
export function afterFailure(lease: Lease, cause: unknown, now: number, fraction: number): Lease | undefined {
  if (lease.revoke_error !== undefined) return undefined
  const failures = (lease.retry?.failures ?? 0) + 1
  const text = failureText(cause)
  if (isUnrecoverable(cause)) return irrevocable(lease, text)
  if (failures >= maxFailures) return irrevocable(lease, `out of retries: ${text}`)
  return { ...lease, ended: true, retry: { at: now + retryDelayMs(failures, fraction), failures } }
}

const irrevocable = (lease: Lease, error: string): Lease => ({
  ...lease,
  ended: true,
  retry: undefined,
  revoke_error: error.slice(0, maxErrorLength),
})

/** The lease, ended now. Undefined (unchanged) if it has ended already: it keeps its retries. */
export const endedNow = (lease: Lease, now: number): Lease | undefined =>
  hasEnded(lease, now) ? undefined : { ...lease, expire_time: now, ended: true }

/**
 * The lease, ended now at a caller's request: due at once, with the failure count reset. An irrevocable lease
 * remains irrevocable. docs/contract/leases.md#retries
 */
export const queuedNow = (lease: Lease, now: number): Lease => ({
  ...lease,
  retry: undefined,
  expire_time: now,
  ended: true,
})
