import { type OffsetAt, timeZone } from '../../lib/system/time-zone.ts'
import { type CronSchedule, parseCron } from '../../lib/text/cron.ts'
import { lastStart, nextStart } from '../../lib/text/zoned-schedule.ts'

/** When a message recurs, as it is stored. Durations are seconds. */
export type RecurrenceFields = {
  readonly cron: string
  readonly duration: number
  readonly time_zone: string
}

/** In milliseconds since the epoch. */
type Occurrence = { readonly start: number; readonly end: number }

type Occurrences = { readonly current: Occurrence | undefined; readonly next: Occurrence | undefined }

const shortestSeconds = 60
const longestSeconds = 7 * 86_400
/** Later times could not be printed. docs/contract/messages.md#times */
const lastMoment = Date.UTC(9999, 11, 31, 23, 59, 59)

/** When a message recurs. docs/contract/message-windows.md#schedules */
export class Recurrence {
  readonly fields: RecurrenceFields
  readonly offsetAt: OffsetAt
  readonly #cron: CronSchedule
  /** The last result, and from when until when it holds: whoever looks again is mostly in the same occurrence. */
  #known: { readonly from: number; readonly until: number; readonly found: Occurrences } | undefined

  private constructor(fields: RecurrenceFields, cron: CronSchedule, offsetAt: OffsetAt) {
    this.fields = fields
    this.offsetAt = offsetAt
    this.#cron = cron
  }

  /** Returns faults of the fields as an error. */
  static of(fields: RecurrenceFields): Recurrence | { readonly error: string } {
    const cron = parseCron(fields.cron)
    if ('error' in cron) return { error: `cron: ${cron.error}` }
    const { duration } = fields
    if (duration < shortestSeconds || duration > longestSeconds)
      return { error: 'duration must be between one minute and seven days' }
    const offsetAt = timeZone(fields.time_zone)
    if (offsetAt === undefined) return { error: 'time_zone is not the name of a time zone' }
    return new Recurrence(fields, cron, offsetAt)
  }

  /** The occurrence at a time, and the next one after it. */
  at(time: number): Occurrences {
    const known = this.#known
    if (known !== undefined && time >= known.from && time < known.until) return known.found
    const found = this.#find(time)
    const until = Math.min(
      found.current?.end ?? Number.POSITIVE_INFINITY,
      found.next?.start ?? Number.POSITIVE_INFINITY,
    )
    this.#known = { from: time, until, found }
    return found
  }

  #find(time: number): Occurrences {
    const schedule = { cron: this.#cron, offsetAt: this.offsetAt }
    const durationMs = this.fields.duration * 1000
    const from = (start: number | undefined) =>
      start === undefined || start + durationMs > lastMoment ? undefined : { start, end: start + durationMs }
    return { current: from(lastStart(schedule, time, durationMs)), next: from(nextStart(schedule, time)) }
  }
}
