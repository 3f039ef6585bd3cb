import type { ConfigRecord } from '../config/config-record.ts'
import { dueTime } from './due-time.ts'
import type { RotationTimes } from './rotation-times.ts'

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

/** Whether an automatic rotation may start now. Pure. */
export const isRotationDue = (config: ConfigRecord, now: number): boolean => dueTime(config, now) <= now
