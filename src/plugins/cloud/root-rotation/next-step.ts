import { nextTime, parseCron } from '../../../lib/text/cron.ts'
import { wantsRotation } from '../config/config.ts'
import type { ConfigRecord } from '../config/config-record.ts'

/** When what happens to a root credential, in milliseconds. Changed by tests only. */
export const usualTimes = {
  /** Between two looks at all mounts. */
  lookMs: 5_000,
  /** Between two checks of a pending secret. docs/contract/cloud.md#promotion */
  checkAgainMs: 15_000,
  /** Between two attempts at a rotation that is due. */
  rotateAgainMs: 60_000,
  /** A pending secret is left alone until it is this old. docs/contract/cloud.md#promotion */
  leastAgeMs: 60_000,
  /** A pending certificate that fails for so long never arrived. A pending secret no longer holds up a rotation. */
  givenUpMs: 3_600_000,
  /** Other servers may still sign in with the former certificate for as long as they keep their clients. */
  overlapMs: 3_600_000,
}

export type RotationTimes = Readonly<typeof usualTimes>

/** When rotations are due. Durations are seconds. */
export type RotationTerms = Pick<
  ConfigRecord,
  | 'disable_automated_rotation'
  | 'rotation_counts_from'
  | 'rotation_period'
  | 'rotation_schedule'
  | 'rotation_window'
>

/**
 * When the next rotation may start, or since when it is due, in milliseconds since the epoch; infinity: never.
 * docs/contract/cloud.md#automatic-rotation
 */
export function dueTime(config: RotationTerms, now: number): number {
  const { rotation_counts_from: from, rotation_period, rotation_schedule, rotation_window } = config
  if (!wantsRotation(config) || from === undefined) return Number.POSITIVE_INFINITY
  if (rotation_schedule === '') return from + rotation_period * 1000
  const schedule = parseCron(rotation_schedule)
  if ('error' in schedule) return Number.POSITIVE_INFINITY
  // the first scheduled time after the last rotation whose window is still open
  const earliest = rotation_window === 0 ? from : Math.max(from, now - rotation_window * 1000 - 1)
  return nextTime(schedule, earliest) ?? Number.POSITIVE_INFINITY
}

/** What waits until it works. */
export const pendingOf = ({ pending, pending_certificate }: ConfigRecord): { created: number } | undefined =>
  pending ?? pending_certificate

/** When the next former certificate is to be removed, in milliseconds since the epoch. Infinity means never. */
export const retirementTime = ({ retiring_keys: keys = [] }: ConfigRecord): number =>
  Math.min(Number.POSITIVE_INFINITY, ...keys.map(({ not_before }) => not_before))

/** What to do about a mount's root credential now. Pure. */
export function nextStep(
  config: ConfigRecord | undefined,
  now: number,
  { leastAgeMs, givenUpMs }: Pick<RotationTimes, 'leastAgeMs' | 'givenUpMs'>,
): 'complete' | 'rotate' | 'retire' | 'nothing' {
  if (config === undefined) return 'nothing'
  if (retirementTime(config) <= now) return 'retire'
  const isDue = isRotationDue(config, now)
  const pending = pendingOf(config)
  if (pending === undefined) return isDue ? 'rotate' : 'nothing'
  const ageMs = now - pending.created
  if (isDue && ageMs >= givenUpMs) return 'rotate'
  // a secret from the future: the clock was set back since, so check at once whether the secret works
  return ageMs >= leastAgeMs || ageMs < 0 ? 'complete' : 'nothing'
}

export const isRotationDue = (config: ConfigRecord, now: number): boolean => dueTime(config, now) <= now
