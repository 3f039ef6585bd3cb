/** A schedule of five fields. */
export type CronSchedule = {
  readonly minutes: ReadonlySet<number>
  readonly hours: ReadonlySet<number>
  readonly days: ReadonlySet<number>
  readonly months: ReadonlySet<number>
  readonly weekdays: ReadonlySet<number>
  /** Both days are restricted: then either suffices. */
  readonly eitherDay: boolean
  /** The hours are not restricted, or only by a step. */
  readonly everyHour: boolean
}

type FieldRange = {
  readonly name: string
  readonly least: number
  readonly greatest: number
  readonly words?: readonly string[]
}

const longestText = 256
const monthWords = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const weekdayWords = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const ranges = {
  minute: { name: 'minute', least: 0, greatest: 59 },
  hour: { name: 'hour', least: 0, greatest: 23 },
  day: { name: 'day of month', least: 1, greatest: 31 },
  month: { name: 'month', least: 1, greatest: 12, words: monthWords },
  weekday: { name: 'day of week', least: 0, greatest: 6, words: weekdayWords },
} as const satisfies Record<string, FieldRange>

/**
 * Parses minute, hour, day of month, month and day of week: numbers, three-letter names, `*`, `a-b`, `a/n`,
 * `a-b/n`, and lists of those; `?` is `*`. Returns an error text if the schedule is invalid.
 *
 * `croner` reads other schedules than Vault's parser: it refuses `a/n`, accepts `7`, `@daily`, `L`, `W` and
 * `#`, and takes a day field like a step of `*` for a restriction. docs/contract/cloud.md#automatic-rotation
 */
export function parseCron(text: string): CronSchedule | { readonly error: string } {
  if (text.length > longestText) return { error: `a schedule has at most ${longestText} characters` }
  const fields = text.trim().split(/\s+/)
  if (fields.length !== 5 || text.trim() === '')
    return { error: `expected exactly 5 fields, found ${text.trim() === '' ? 0 : fields.length}` }
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = fields
  try {
    const schedule = {
      minutes: parseField(minute, ranges.minute),
      hours: parseField(hour, ranges.hour),
      days: parseField(day, ranges.day),
      months: parseField(month, ranges.month),
      weekdays: parseField(weekday, ranges.weekday),
      eitherDay: !isAny(day) && !isAny(weekday),
      everyHour: isAny(hour),
    }
    return nextTime(schedule, 0) === undefined ? { error: 'there is no such day' } : schedule
  } catch (error) {
    if (error instanceof CronError) return { error: error.message }
    throw error
  }
}

const dayMs = 86_400_000
/** A leap day falls on a given day of the week at least every 40 years, whatever the century. */
const longestSearchDays = 40 * 366

/**
 * The first time after `after`, both in milliseconds since the epoch, as a clock in UTC shows them; undefined when there
 * is none.
 */
export function nextTime(schedule: CronSchedule, after: number): number | undefined {
  const firstDay = Math.floor(after / dayMs) * dayMs
  const lastDay = firstDay + longestSearchDays * dayMs
  for (let day = firstDay; day <= lastDay; day = nextDay(schedule, day)) {
    if (!isDay(schedule, new Date(day))) continue
    for (const hour of ascending(schedule.hours)) {
      for (const minute of ascending(schedule.minutes)) {
        const time = day + hour * 3_600_000 + minute * 60_000
        if (time > after) return time
      }
    }
  }
  return undefined
}

/** The next day, or the first one of the next month if this month has none. */
function nextDay({ months }: CronSchedule, day: number): number {
  const date = new Date(day)
  return months.has(date.getUTCMonth() + 1) ? day + dayMs : date.setUTCMonth(date.getUTCMonth() + 1, 1)
}

function isDay({ days, months, weekdays, eitherDay }: CronSchedule, date: Date): boolean {
  if (!months.has(date.getUTCMonth() + 1)) return false
  const isDayOfMonth = days.has(date.getUTCDate())
  const isWeekday = weekdays.has(date.getUTCDay())
  return eitherDay ? isDayOfMonth || isWeekday : isDayOfMonth && isWeekday
}

const ascending = (values: ReadonlySet<number>): number[] => [...values].sort((a, b) => a - b)

class CronError extends Error {}

/** A field that begins with a star restricts nothing, as cron has it. */
const isAny = (field: string): boolean => field.startsWith('*') || field.startsWith('?')

function parseField(field: string, range: FieldRange): ReadonlySet<number> {
  const values = new Set<number>()
  for (const item of field.split(',')) {
    const [span = '', step, ...more] = item.split('/')
    if (more.length > 0) throw new CronError(`too many slashes in the ${range.name}`)
    const by = step === undefined ? 1 : parseNumber(step, { ...range, words: [] })
    if (by < 1) throw new CronError(`the step of the ${range.name} must be above 0`)
    const [first, last] = parseSpan(span, range, step !== undefined)
    if (first < range.least || last > range.greatest) {
      throw new CronError(`the ${range.name} must be between ${range.least} and ${range.greatest}`)
    }
    if (first > last) throw new CronError(`the range of the ${range.name} ends before it begins`)
    for (let value = first; value <= last; value += by) values.add(value)
  }
  return values
}

function parseSpan(span: string, range: FieldRange, isStepped: boolean): [number, number] {
  if (span === '*' || span === '?') return [range.least, range.greatest]
  const [from = '', to, ...more] = span.split('-')
  if (more.length > 0) throw new CronError(`too many hyphens in the ${range.name}`)
  const first = parseNumber(from, range)
  if (to !== undefined) return [first, parseNumber(to, range)]
  return [first, isStepped ? range.greatest : first]
}

function parseNumber(text: string, { name, least, words = [] }: FieldRange): number {
  const word = words.indexOf(text.toLowerCase())
  if (word >= 0) return word + least
  if (!/^\d{1,9}$/.test(text)) throw new CronError(`the ${name} is no number`)
  return Number(text)
}
