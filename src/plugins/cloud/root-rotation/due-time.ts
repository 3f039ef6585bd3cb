import { wantsRotation } from '../config/config.ts'
import type { ConfigRecord } from '../config/config-record.ts'
import { nextTime, parseCron } from './cron.ts'

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
