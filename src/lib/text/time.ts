import { quoted } from './go-text.ts'
import { isJsonNumber } from './json.ts'

/** An instant as RFC 3339 text in UTC with up to nine fractional digits, or why the input is not a time. */
export type ParsedTime = { time: string } | { error: string }

const unreadable = 'could not parse string as date and time'
const maxDateSeconds = 8_640_000_000_000
const rfc3339 =
  /^(\d{4})-(\d\d)-(\d\d)T(\d\d?):([0-5]\d):([0-5]\d)(?:[.,](\d+))?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))$/

/**
 * Parses a time from a request: RFC 3339 text, or whole seconds since 1970. An offset can move the result
 * outside the years 0 to 9999: check with `hasFourDigitYear`. docs/contract/http.md#field-types
 */
export function parseTime(input: unknown): ParsedTime {
  if (isJsonNumber(input)) return parseNumber(input.rawJSON)
  if (typeof input === 'number') return parseNumber(String(input))
  if (typeof input !== 'string') return { error: 'could not parse time from input type' }
  return isWholeNumber(input) ? { time: fromSeconds(Number(input)) } : parseText(input)
}

/**
 * A time as responses print it: RFC 3339 in UTC with `Z`, without trailing zeros in the fraction.
 * docs/contract/http.md#field-types
 */
export function formatTime(milliseconds: number): string {
  if (milliseconds < 0 || milliseconds > lastFourDigitYear)
    return printTime(Math.floor(milliseconds / 1000), String(mod(milliseconds, 1000)).padStart(3, '0'))
  const rest = milliseconds % dayMs
  const seconds = Math.floor(rest / 1000)
  const fraction = Math.floor(rest % 1000)
  const clock = `${twoDigits(Math.floor(seconds / 3600))}:${twoDigits(Math.floor(seconds / 60) % 60)}:${twoDigits(seconds % 60)}`
  return `${dayText(Math.floor(milliseconds / dayMs))}${clock}${fraction === 0 ? '' : `.${String(fraction).padStart(3, '0').replace(/0+$/, '')}`}Z`
}

const dayMs = 86_400_000
const twoDigits = (value: number): string => (value < 10 ? `0${value}` : `${value}`)

/** The most recent day: most times in responses are of today. */
let lastDay = { day: 0, text: '1970-01-01T' }

function dayText(day: number): string {
  if (lastDay.day !== day) lastDay = { day, text: new Date(day * dayMs).toISOString().slice(0, 11) }
  return lastDay.text
}

const lastFourDigitYear = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** Milliseconds since the epoch of a text from `parseTime`, truncated. */
export const timeMilliseconds = (time: string): number => Number(timeNanoseconds(time) / 1_000_000n)

/** Nanoseconds since the epoch of a text from `parseTime`, of any year; 0 for other texts. */
export function timeNanoseconds(time: string): bigint {
  if (time.length === '2024-01-02T03:04:05Z'.length) return BigInt(Date.parse(time) || 0) * 1_000_000n
  const [, sign = '', year = '', rest = '', fraction = ''] =
    /^(-?)(\d{4,6})(-[^.]*?)(?:\.(\d{1,9}))?Z$/.exec(time) ?? []
  // Date.parse wants other years than 0000 to 9999 with a sign and six digits
  const whole =
    sign === '' && year.length === 4 ? year : `${sign === '' ? '+' : sign}${year.padStart(6, '0')}`
  const milliseconds = Date.parse(`${whole}${rest}Z`)
  return Number.isNaN(milliseconds) ? 0n : BigInt(milliseconds) * 1_000_000n + BigInt(fraction.padEnd(9, '0'))
}

/** Like `formatTime`, to the nanosecond. */
export function formatInstant(nanoseconds: bigint): string {
  if (nanoseconds % 1_000_000n === 0n) return formatTime(Number(nanoseconds / 1_000_000n))
  const fraction = ((nanoseconds % secondNs) + secondNs) % secondNs
  return printTime(Number((nanoseconds - fraction) / secondNs), String(fraction).padStart(9, '0'))
}

const secondNs = 1_000_000_000n

/** Whether a time can be stored and printed. */
export const hasFourDigitYear = (time: string): boolean => /^\d{4}-/.test(time)

function parseNumber(text: string): ParsedTime {
  if (!/^-?\d+$/.test(text)) return { error: `strconv.ParseInt: parsing ${quoted(text)}: invalid syntax` }
  if (!isWholeNumber(text)) return { error: `strconv.ParseInt: parsing ${quoted(text)}: value out of range` }
  return { time: fromSeconds(Number(text)) }
}

/** A signed integer of about 64 bits; the limits are far outside any calendar. */
const isWholeNumber = (text: string): boolean => /^[+-]?0*\d{1,19}$/.test(text)

function parseText(text: string): ParsedTime {
  const match = rfc3339.exec(text)
  if (!match) return { error: unreadable }
  const [
    ,
    year,
    month,
    day,
    hour,
    minute,
    second,
    fraction = '',
    sign,
    offsetHours = '0',
    offsetMinutes = '0',
  ] = match
  const date = new Date(0)
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  date.setUTCHours(Number(hour), Number(minute), Number(second))
  const isReal =
    date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day) && Number(hour) < 24
  if (!isReal) return { error: unreadable }
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60
  return { time: printTime(date.getTime() / 1000 - (sign === '-' ? -offset : offset), fraction.slice(0, 9)) }
}

const fromSeconds = (seconds: number): string =>
  printTime(Math.max(-maxDateSeconds, Math.min(maxDateSeconds, seconds)), '')

function printTime(seconds: number, fraction: string): string {
  const digits = fraction.replace(/0+$/, '')
  return `${wholeSecond(new Date(seconds * 1000).toISOString())}${digits === '' ? '' : `.${digits}`}Z`
}

/** Changes a year such as `+010000` or `-000001`, which `Date` prints outside 0 to 9999. */
function wholeSecond(iso: string): string {
  if (iso.length === '2024-01-02T03:04:05.000Z'.length) return iso.slice(0, -'.000Z'.length)
  const [, sign = '', year = '', rest = ''] = /^([+-]?)0*(\d{4,})(-.*)\.000Z$/.exec(iso) ?? []
  return `${sign === '-' ? '-' : ''}${year}${rest}`
}

const mod = (value: number, divisor: number): number => ((Math.trunc(value) % divisor) + divisor) % divisor
