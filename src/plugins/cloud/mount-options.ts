import type { Mount } from '../../core/mounts/mount.ts'
import { parseDuration } from '../../lib/text/go-duration.ts'

/** The engine's options of a mount, set with `sys/mounts/…/tune`. */
export type EngineOptions = {
  /** Default of the request field `wait`: whether a credential is returned once it works. */
  readonly wait: 'ready' | 'none'
  readonly waitLimitMs: number
  readonly onTimeout: 'return' | 'revoke'
  /** How many credentials are created at a time. */
  readonly mostInFlight: number
  /** 0: only on request. */
  readonly reapPeriodMs: number
  /**
   * Seconds that a secret works upstream if its role sets no limit. 0: as long as its lease can last plus a
   * day.
   */
  readonly secretLifetime: number
  /** Sent with each application that is created, for tenants that require one. */
  readonly serviceManagementReference: string | undefined
  /** Whether roles may list app roles that lead to every permission in the tenant. */
  readonly allowsPrivilegedAppRoles: boolean
}

const defaultWaitLimit = 60
const defaultInFlight = 8
const mostInFlight = 64
const leastReapPeriod = 60
/** A hundred years: directories accept no more, and the end must be a valid date. */
const mostSecretLifetime = 100 * 365 * 86_400

/** Reads the options of a mount. Invalid values count as unset. */
export function engineOptions({ options }: Pick<Mount, 'options'>): EngineOptions {
  const {
    wait,
    wait_limit,
    on_timeout,
    max_in_flight,
    reap_period,
    secret_lifetime,
    service_management_reference,
    allow_privileged_app_roles,
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
    allowsPrivilegedAppRoles: allow_privileged_app_roles === 'true',
  }
}

function secondsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const parsed = parseDuration(text)
  return 'seconds' in parsed ? parsed.seconds : undefined
}
