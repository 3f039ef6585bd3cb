import type { ConfigRecord } from '../config/config-record.ts'
import { wantsRotation } from '../config/config.ts'
import { leastAgeMs } from './complete-rotation.ts'
import { nextTime, parseCron } from './cron.ts'

/** A pending secret that is this old and still does not work no longer holds up a rotation that is due. */
const givenUpMs = 3600_000

/** What to do about a mount's root secret now. Pure. */
export function nextStep(config: ConfigRecord | undefined, now: number): 'complete' | 'rotate' | 'nothing' {
  if (config === undefined) return 'nothing'
  const isDue = isRotationDue(config, now)
  if (config.pending === undefined) return isDue ? 'rotate' : 'nothing'
  const ageMs = now - config.pending.created
  if (isDue && ageMs >= givenUpMs) return 'rotate'
  // a secret from the future: the clock was set back since, so check at once whether the secret works
  return ageMs >= leastAgeMs || ageMs < 0 ? 'complete' : 'nothing'
}

/** Whether an automatic rotation may start now. Pure. */
export const isRotationDue = (config: ConfigRecord, now: number): boolean => dueTime(config, now) <= now

/**
 * When the next automatic rotation may start, or since when it is due, in milliseconds since the epoch.
 * Infinity means never. Pure. docs/contract/cloud.md#automatic-rotation
 */
export function dueTime(config: ConfigRecord, now: number): number {
  const { rotation_counts_from: from, rotation_period, rotation_schedule, rotation_window } = config
  if (!wantsRotation(config) || from === undefined) return Number.POSITIVE_INFINITY
  if (rotation_schedule === '') return from + rotation_period * 1000
  const schedule = parseCron(rotation_schedule)
  if ('error' in schedule) return Number.POSITIVE_INFINITY
  // the first scheduled time after the last rotation whose window is still open
  const earliest = rotation_window === 0 ? from : Math.max(from, now - rotation_window * 1000 - 1)
  return nextTime(schedule, earliest) ?? Number.POSITIVE_INFINITY
}
