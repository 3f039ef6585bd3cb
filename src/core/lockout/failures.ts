import type { LockoutTerms } from './lockout-terms.ts'

/** The wrong secrets that were sent for a name. */
export type Failures = {
  readonly count: number
  /** When the last one was sent, in milliseconds since the epoch. */
  readonly at: number
  /** The last one locked the name. */
  readonly locks: boolean
}

/** Servers that share the storage have the same time within a second. */
const mostAheadMs = 5_000

/** A time further in the future was before the clock was set back. */
const isWithin = (at: number, ms: number, now: number): boolean => now >= at - mostAheadMs && now < at + ms

/** Whether the name is locked now. */
export const areLocking = ({ locks, at }: Failures, { durationMs }: LockoutTerms, now: number): boolean =>
  locks && isWithin(at, durationMs, now)

/** Whether they no longer matter: neither is the name locked, nor would they count with another one. */
export const arePast = ({ locks, at }: Failures, terms: LockoutTerms, now: number): boolean =>
  !isWithin(at, locks ? Math.max(terms.durationMs, terms.resetMs) : terms.resetMs, now)

/** With one more. After a lock has ended, one locks again, until the count is reset. */
export function withAnother(before: Failures | undefined, terms: LockoutTerms, now: number): Failures {
  const earlier = before !== undefined && isWithin(before.at, terms.resetMs, now) ? before : undefined
  const count = (earlier?.count ?? 0) + 1
  return {
    count,
    at: Math.max(now, earlier?.at ?? now),
    locks: earlier?.locks === true || count >= terms.threshold,
  }
}
