import { parseGoDuration } from '../../../../lib/text/go-duration.ts'
import { parseTime, timeNanoseconds } from '../../../../lib/text/time.ts'
import { floored } from './core-functions.ts'
import { type Definition, define, method } from './functions.ts'
import { duration, int, string, timestamp } from './kinds.ts'
import { CelError, Duration, endOfInt, nanosOfSecond, Timestamp } from './values.ts'

/** The years 1 to 9999. */
const firstNanos = -62_135_596_800n * nanosOfSecond
const endNanos = 253_402_300_800n * nanosOfSecond

function timestampOf(nanos: bigint): Timestamp {
  if (nanos < firstNanos || nanos >= endNanos) throw new CelError('timestamp overflow')
  return new Timestamp(nanos)
}

function durationOf(nanos: bigint): Duration {
  if (nanos < -endOfInt || nanos >= endOfInt) throw new CelError('duration overflow')
  return new Duration(nanos)
}

function parsedTimestamp(text: string): Timestamp {
  // a request may write seconds instead, a program may not
  const parsed = text.includes('T') && text.length < 64 ? parseTime(text) : { error: '' }
  if ('error' in parsed)
    throw new CelError("type conversion error from 'string' to 'google.protobuf.Timestamp'")
  return timestampOf(timeNanoseconds(parsed.time))
}

function parsedDuration(text: string): Duration {
  const parsed = text.length > 64 ? { error: '' } : parseGoDuration(text)
  if ('error' in parsed)
    throw new CelError("type conversion error from 'string' to 'google.protobuf.Duration'")
  return durationOf(parsed.nanoseconds)
}

/** The time whose UTC is what clocks of the zone show: `UTC`, `Europe/Berlin` or `+01:00`. */
function clockOf({ nanos }: Timestamp, zone: string): Date {
  const seconds = Number(floored(nanos, nanosOfSecond))
  if (zone === 'UTC' || zone === '') return new Date(seconds * 1000)
  const offset = /^([-+]?)(\d{1,2}):(\d{2})$/.exec(zone)
  if (offset === null) return zoneClock(seconds, zone)
  const minutes = Number(offset[2]) * 60 + Number(offset[3])
  return new Date((seconds + (offset[1] === '-' ? -60 : 60) * minutes) * 1000)
}

const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone)
  if (known !== undefined) return known
  try {
    const format = new Intl.DateTimeFormat('en-US-u-ca-iso8601', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
    // there are a few hundred zones, and more spellings of them
    if (formats.size > 1_000) formats.clear()
    formats.set(zone, format)
    return format
  } catch {
    throw new CelError('unknown time zone')
  }
}

function zoneClock(seconds: number, zone: string): Date {
  const parts = formatOf(zone).formatToParts(new Date(seconds * 1000))
  const part = (type: Intl.DateTimeFormatPartTypes) =>
    Number(parts.find((each) => each.type === type)?.value ?? 0)
  const clock = new Date(0)
  clock.setUTCFullYear(part('year'), part('month') - 1, part('day'))
  clock.setUTCHours(part('hour'), part('minute'), part('second'))
  return clock
}

const dayMs = 86_400_000
const dayOfYear = (clock: Date): number =>
  Math.floor((clock.getTime() - new Date(clock).setUTCMonth(0, 1)) / dayMs)

const getter = (name: string, read: (clock: Date) => number): readonly Definition[] => [
  method(name, [timestamp], int, (time) => BigInt(read(clockOf(time, 'UTC')))),
  method(name, [timestamp, string], int, (time, zone) => BigInt(read(clockOf(time, zone)))),
]

const milliseconds = (nanos: bigint): bigint =>
  (((nanos % nanosOfSecond) + nanosOfSecond) % nanosOfSecond) / 1_000_000n

const spans = (name: string, unit: bigint): Definition =>
  method(name, [duration], int, ({ nanos }) => nanos / unit)

/** docs/contract/cel.md#functions */
export const timeFunctions: readonly Definition[] = [
  define('timestamp', [timestamp], timestamp, (value) => value),
  define('timestamp', [string], timestamp, parsedTimestamp),
  define('timestamp', [int], timestamp, (seconds) => timestampOf(seconds * nanosOfSecond)),
  define('duration', [duration], duration, (value) => value),
  define('duration', [string], duration, parsedDuration),
  define('_+_', [timestamp, duration], timestamp, (time, span) => timestampOf(time.nanos + span.nanos)),
  define('_+_', [duration, timestamp], timestamp, (span, time) => timestampOf(time.nanos + span.nanos)),
  define('_+_', [duration, duration], duration, (one, other) => durationOf(one.nanos + other.nanos)),
  define('_-_', [timestamp, duration], timestamp, (time, span) => timestampOf(time.nanos - span.nanos)),
  define('_-_', [timestamp, timestamp], duration, (one, other) => durationOf(one.nanos - other.nanos)),
  define('_-_', [duration, duration], duration, (one, other) => durationOf(one.nanos - other.nanos)),
  ...getter('getFullYear', (clock) => clock.getUTCFullYear()),
  ...getter('getMonth', (clock) => clock.getUTCMonth()),
  ...getter('getDate', (clock) => clock.getUTCDate()),
  ...getter('getDayOfMonth', (clock) => clock.getUTCDate() - 1),
  ...getter('getDayOfWeek', (clock) => clock.getUTCDay()),
  ...getter('getDayOfYear', dayOfYear),
  ...getter('getHours', (clock) => clock.getUTCHours()),
  ...getter('getMinutes', (clock) => clock.getUTCMinutes()),
  ...getter('getSeconds', (clock) => clock.getUTCSeconds()),
  method('getMilliseconds', [timestamp], int, ({ nanos }) => milliseconds(nanos)),
  method('getMilliseconds', [timestamp, string], int, ({ nanos }) => milliseconds(nanos)),
  spans('getHours', 3_600n * nanosOfSecond),
  spans('getMinutes', 60n * nanosOfSecond),
  spans('getSeconds', nanosOfSecond),
  method('getMilliseconds', [duration], int, ({ nanos }) => (nanos % nanosOfSecond) / 1_000_000n),
]
