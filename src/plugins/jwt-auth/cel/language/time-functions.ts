import { parseTime, timeNanoseconds } from '../../../../lib/text/time.ts'
import { floored } from './core-functions.ts'
import { type Definition, define, method } from './functions.ts'
import { duration, int, string, timestamp } from './kinds.ts'
import { CelError, Duration, Timestamp } from './values.ts'

const nanosOfSecond = 1_000_000_000n
/** The years 1 to 9999. */
const firstNanos = -62_135_596_800n * nanosOfSecond
const endNanos = 253_402_300_800n * nanosOfSecond
const endOfInt = 2n ** 63n

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

const units: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  ms: 1_000_000n,
  s: nanosOfSecond,
  m: 60n * nanosOfSecond,
  h: 3_600n * nanosOfSecond,
}

function parsedDuration(text: string): Duration {
  if (text === '0') return new Duration(0n)
  if (text.length > 64 || !/^[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|ms|s|m|h))+$/.test(text))
    throw new CelError("type conversion error from 'string' to 'google.protobuf.Duration'")
  let nanos = 0n
  for (const [, whole = '', fraction = '', unit = ''] of text.matchAll(/(\d*)\.?(\d*)([a-zµ]+)/g)) {
    const size = units[unit] ?? 1n
    nanos += BigInt(whole || '0') * size + (BigInt(fraction || '0') * size) / 10n ** BigInt(fraction.length)
  }
  return durationOf(text.startsWith('-') ? -nanos : nanos)
}

/** The parts of a time in its zone. */
type Clock = {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
  readonly second: number
}

/** `UTC`, `Europe/Berlin` or `+01:00` */
function clockOf({ nanos }: Timestamp, zone: string): Clock {
  const seconds = floored(nanos, nanosOfSecond)
  const offset = /^([-+]?)(\d{1,2}):(\d{2})$/.exec(zone)
  if (offset !== null) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3])
    return utcClock(Number(seconds) + (offset[1] === '-' ? -60 : 60) * minutes)
  }
  return zone === '' || zone === 'UTC' ? utcClock(Number(seconds)) : zoneClock(Number(seconds), zone)
}

function utcClock(seconds: number): Clock {
  const date = new Date(seconds * 1000)
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
  }
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
    throw new CelError(`unknown time zone ${zone.slice(0, 64)}`)
  }
}

function zoneClock(seconds: number, zone: string): Clock {
  const parts = formatOf(zone).formatToParts(new Date(seconds * 1000))
  const part = (type: Intl.DateTimeFormatPartTypes) =>
    Number(parts.find((each) => each.type === type)?.value ?? 0)
  return {
    year: part('year'),
    month: part('month'),
    day: part('day'),
    hour: part('hour'),
    minute: part('minute'),
    second: part('second'),
  }
}

const dayMs = 86_400_000
const dateOf = ({ year, month, day }: Clock): number => new Date(0).setUTCFullYear(year, month - 1, day)
const dayOfWeek = (clock: Clock): number => new Date(dateOf(clock)).getUTCDay()
const dayOfYear = (clock: Clock): number => (dateOf(clock) - dateOf({ ...clock, month: 1, day: 1 })) / dayMs

const getter = (name: string, read: (clock: Clock) => number): readonly Definition[] => [
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
  ...getter('getFullYear', ({ year }) => year),
  ...getter('getMonth', ({ month }) => month - 1),
  ...getter('getDate', ({ day }) => day),
  ...getter('getDayOfMonth', ({ day }) => day - 1),
  ...getter('getDayOfWeek', dayOfWeek),
  ...getter('getDayOfYear', dayOfYear),
  ...getter('getHours', ({ hour }) => hour),
  ...getter('getMinutes', ({ minute }) => minute),
  ...getter('getSeconds', ({ second }) => second),
  method('getMilliseconds', [timestamp], int, ({ nanos }) => milliseconds(nanos)),
  method('getMilliseconds', [timestamp, string], int, ({ nanos }) => milliseconds(nanos)),
  spans('getHours', 3_600n * nanosOfSecond),
  spans('getMinutes', 60n * nanosOfSecond),
  spans('getSeconds', nanosOfSecond),
  method('getMilliseconds', [duration], int, ({ nanos }) => (nanos % nanosOfSecond) / 1_000_000n),
]
