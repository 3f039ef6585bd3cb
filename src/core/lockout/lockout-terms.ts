import type { LockoutConfig } from '../mounts/mount.ts'

/** When a name is locked, and for how long. */
export type LockoutTerms = {
  /** The number of wrong secrets that locks a name. */
  readonly threshold: number
  readonly durationMs: number
  /** How long after a wrong secret the ones before it still count. */
  readonly resetMs: number
}

/** The terms of a mount: its own where they are set, else the server's. Undefined: nobody is locked. */
export function termsOf(
  server: LockoutTerms | undefined,
  config: LockoutConfig | undefined,
): LockoutTerms | undefined {
  if (server === undefined || config === undefined) return server
  if (config.user_lockout_disable) return undefined
  return {
    threshold: config.user_lockout_threshold || server.threshold,
    durationMs: config.user_lockout_duration * 1000 || server.durationMs,
    resetMs: config.user_lockout_counter_reset_duration * 1000 || server.resetMs,
  }
}
