import type { OffsetAt } from '../system/time-zone.ts'
import { type CronSchedule, nextTime } from './cron.ts'

/** A schedule by the clocks of a time zone. */
export type ZonedSchedule = { readonly cron: CronSchedule; readonly offsetAt: OffsetAt }

const dayMs = 86_400_000
const minuteMs = 60_000
/** Each step passes one change of the clocks, or comes near the time that is looked for. */
const mostSteps = 12

/**
 * The first start after `after`, in milliseconds since the epoch; undefined when there is none. A start that falls into
 * a missing hour is when the clocks are put forward; one in a doubled hour is in the first one. A schedule for every
 * hour skips the missing hour and has both doubled ones. docs/contract/message-windows.md#changes-of-the-clocks
 */
export function nextStart({ cron, offsetAt }: ZonedSchedule, after: number): number | undefined {
  let offset = offsetAt(after)
  // what the clocks show, as if they were clocks in UTC
  let shown = cron.everyHour ? after + offset : afterDoubled(offsetAt, after)
  for (let step = 0; step < mostSteps; step++) {
    const match = nextTime(cron, shown)
    if (match === undefined) return undefined
    const from = shown - offset
    const until = Math.min(match - offset, from + dayMs)
    const later = offsetAt(until)
    if (later !== offset) {
      const change = changeBetween(offsetAt, { from, until, to: later })
      const isForward = later > offset
      if (isForward && match < change + later && !cron.everyHour) return change
      // nobody's clocks show a missing hour, and only a schedule for every hour looks at the second of two
      shown = change + (isForward || cron.everyHour ? later : offset) - 1
      offset = later
    } else {
      if (until === match - offset) return until
      // the clocks show no time of the schedule before, so what they do until then does not matter
      const near = Math.max(until, match - offset - 1.5 * dayMs)
      offset = offsetAt(near)
      shown = near + offset
    }
  }
  return undefined
}

/** The last start that is no later than `now`, and less than `withinMs` before it. */
export function lastStart(schedule: ZonedSchedule, now: number, withinMs: number): number | undefined {
  const earliest = now - withinMs
  let found = nextStart(schedule, earliest)
  if (found === undefined || found > now) return undefined
  // starts are a minute apart at least: the last minute of which the next start is not in the future
  let low = 0
  let high = Math.ceil(withinMs / minuteMs)
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    const start = nextStart(schedule, earliest + middle * minuteMs)
    if (start !== undefined && start <= now) {
      found = start
      low = middle
    } else high = middle
  }
  return found
}

/** What the clocks show; in the second of two doubled hours, the end of that hour. */
function afterDoubled(offsetAt: OffsetAt, time: number): number {
  const offset = offsetAt(time)
  const earlier = offsetAt(time - dayMs)
  if (earlier <= offset) return time + offset
  const change = changeBetween(offsetAt, { from: time - dayMs, until: time, to: offset })
  return Math.max(time + offset, change + earlier - 1)
}

/** When the clocks change to an offset: the first millisecond that has it. */
function changeBetween(
  offsetAt: OffsetAt,
  { from, until, to }: { readonly from: number; readonly until: number; readonly to: number },
): number {
  let low = from
  let high = until
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetAt(middle) === to) high = middle
    else low = middle
  }
  return high
}
