import type { Mount } from '../../core/mounts/mount.ts'
import { parseDuration } from '../../lib/go/duration.ts'

/** What the options of a mount (`sys/mounts/…/tune`) say to the engine. */
export type EngineOptions = {
  /** Credentials are proven before they are answered, unless a request says otherwise. */
  readonly wait: 'ready' | 'none'
  readonly waitLimitMs: number
  readonly onTimeout: 'return' | 'revoke'
  /** Credentials made at a time. */
  readonly mostInFlight: number
  /** 0: only when it is asked for. */
  readonly reapPeriodMs: number
  /**
   * Seconds a secret works upstream when its role does not say; 0: as long as its lease can last, and a day.
   */
  readonly secretLifetime: number
  /** Sent with each application that is made, where the tenant wants to know whose it is. */
  readonly serviceManagementReference: string | undefined
}

const defaultWaitLimit = 60
const defaultInFlight = 8
const mostInFlight = 64
const leastReapPeriod = 60
/** A hundred years: no directory takes more, and a date must come of it. */
const mostSecretLifetime = 100 * 365 * 86_400

/** A value that means nothing counts as not set. */
export function engineOptions({ options }: Pick<Mount, 'options'>): EngineOptions {
  const {
    wait,
    wait_limit,
    on_timeout,
    max_in_flight,
    reap_period,
    secret_lifetime,
    service_management_reference,
  } = options ?? {}
  const inFlight = Number(max_in_flight ?? defaultInFlight)
  const period = secondsOf(reap_period) ?? 0
  return {
    wait: wait === 'ready' ? 'ready' : 'none',
    waitLimitMs: (secondsOf(wait_limit) ?? defaultWaitLimit) * 1000,
    onTimeout: on_timeout === 'revoke' ? 'revoke' : 'return',
    mostInFlight:
      Number.isInteger(inFlight) && inFlight >= 1 ? Math.min(inFlight, mostInFlight) : defaultInFlight,
    reapPeriodMs: period === 0 ? 0 : Math.max(period, leastReapPeriod) * 1000,
    secretLifetime: Math.min(secondsOf(secret_lifetime) ?? 0, mostSecretLifetime),
    serviceManagementReference: service_management_reference || undefined,
  }
}

function secondsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const parsed = parseDuration(text)
  return 'seconds' in parsed ? parsed.seconds : undefined
}
