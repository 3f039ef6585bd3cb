import { byteQuoted, quoted } from './go-text.ts'
import { isJsonNumber } from './json.ts'

/** Seconds, or why the input is not a duration. */
export type ParsedDuration = { seconds: number } | { error: string }

const maxSeconds = 9_223_372_036
const maxNanoseconds = 2n ** 63n - 1n
const overflow = 'multiplication of durations resulted in overflow, one operand may be too large'

const nanosecondsOf: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  ['\u00b5s', 1_000n],
  ['\u03bcs', 1_000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
])

/**
 * Parses a duration from a request: seconds as a number or text, `7d`, or Go's `1h30m`
 * (https://pkg.go.dev/time#ParseDuration). Truncates toward zero to whole seconds, or to milliseconds if
 * `exact`. Negative values are errors unless `signed`. docs/contract/http.md#field-types
 */
export function parseDuration(
  input: unknown,
  { signed = false, exact = false }: { signed?: boolean; exact?: boolean } = {},
): ParsedDuration {
  const text = durationText(input)
  if (text === undefined) return { error: 'could not parse duration from input' }
  const parsed = parseText(text, exact)
  if (!signed && 'seconds' in parsed && parsed.seconds < 0)
    return { error: `cannot provide negative value '${parsed.seconds}'` }
  return parsed
}

/**
 * A duration as Go prints it, to the millisecond: `768h0m0s`, `1m0s`, `1.5s`, `500ms`, `0s`
 * (https://pkg.go.dev/time#Duration.String).
 */
export function goDuration(seconds: number): string {
  const total = Math.round(Math.abs(seconds) * 1000)
  const sign = seconds < 0 && total > 0 ? '-' : ''
  if (total === 0) return '0s'
  if (total < 1000) return `${sign}${total}ms`
  const hours = Math.floor(total / 3_600_000)
  const minutes = Math.floor(total / 60_000) % 60
  const rest = `${(total % 60_000) / 1000}s`
  if (hours > 0) return `${sign}${hours}h${minutes}m${rest}`
  return minutes > 0 ? `${sign}${minutes}m${rest}` : `${sign}${rest}`
}

/**
 * A duration in whole seconds without the parts that are zero: `768h`, `1h30m`, `1h5s`, `0s`.
 * docs/contract/tokens-and-policies.md#lifetimes
 */
export function shortDuration(seconds: number): string {
  const total = Math.trunc(Math.abs(seconds))
  if (total === 0) return '0s'
  const part = (count: number, unit: string) => (count > 0 ? `${count}${unit}` : '')
  return `${seconds < 0 ? '-' : ''}${part(Math.floor(total / 3600), 'h')}${part(Math.floor(total / 60) % 60, 'm')}${part(total % 60, 's')}`
}

function durationText(input: unknown): string | undefined {
  if (typeof input === 'string') return input
  if (isJsonNumber(input)) return input.rawJSON
  return typeof input === 'number' ? String(input) : undefined
}

function parseText(text: string, exact: boolean): ParsedDuration {
  if (text === '') return { seconds: 0 }
  if (text.endsWith('d')) return parseDays(text.slice(0, -1))
  const whole = wholeNumber(text)
  if (whole === undefined || whole === 'too large') return parseUnits(text, exact)
  return Math.abs(whole) > maxSeconds ? { error: overflow } : { seconds: whole }
}

function parseDays(text: string): ParsedDuration {
  const days = wholeNumber(text)
  if (days === undefined) return { error: `strconv.ParseInt: parsing ${quoted(text)}: invalid syntax` }
  if (days === 'too large') return { error: `strconv.ParseInt: parsing ${quoted(text)}: value out of range` }
  return Math.abs(days) * 86_400 > maxSeconds ? { error: overflow } : { seconds: days * 86_400 }
}

/** A signed 64-bit integer. Numbers above 2^53 are rounded, but they exceed every duration anyway. */
function wholeNumber(text: string): number | 'too large' | undefined {
  if (!/^[+-]?\d+$/.test(text)) return undefined
  const digits = text.replace(/^[+-]?0*/, '')
  if (digits.length > 19) return 'too large'
  const isNegative = text.startsWith('-')
  if (digits.length === 19 && BigInt(digits) > (isNegative ? maxNanoseconds + 1n : maxNanoseconds))
    return 'too large'
  // `|| 0`: never -0
  return (isNegative ? -Number(digits) : Number(digits)) || 0
}

function parseUnits(text: string, exact: boolean): ParsedDuration {
  const parsed = parseGoDuration(text)
  if ('error' in parsed) return parsed
  const { nanoseconds } = parsed
  // `|| 0`: never -0
  return {
    seconds: (exact ? Number(nanoseconds / 1_000_000n) / 1000 : Number(nanoseconds / 1_000_000_000n)) || 0,
  }
}

/**
 * Parses what Go's `time.ParseDuration` does: an optional sign and one or more of `<digits>[.<digits>]<unit>`, or `0`.
 */
export function parseGoDuration(text: string): { nanoseconds: bigint } | { error: string } {
  const invalid = { error: `time: invalid duration ${byteQuoted(text)}` }
  const isNegative = text.startsWith('-')
  const rest = isNegative || text.startsWith('+') ? text.slice(1) : text
  if (rest === '') return invalid
  if (rest === '0') return { nanoseconds: 0n }
  let total = 0n
  const piece = /(\d*)(?:\.(\d*))?([^.\d]*)/y
  for (piece.lastIndex = 0; piece.lastIndex < rest.length; ) {
    const [, digits = '', fraction = '', unit = ''] = piece.exec(rest) ?? []
    if (digits === '' && fraction === '') return invalid
    const whole = digits.replace(/^0+/, '')
    if (whole.length > 19 || BigInt(whole) > maxNanoseconds + 1n) return invalid
    if (unit === '') return { error: `time: missing unit in duration ${byteQuoted(text)}` }
    const nanoseconds = nanosecondsOf.get(unit)
    if (nanoseconds === undefined)
      return { error: `time: unknown unit ${byteQuoted(unit)} in duration ${byteQuoted(text)}` }
    const parts = fraction.slice(0, 18)
    total += BigInt(whole) * nanoseconds + (BigInt(parts) * nanoseconds) / 10n ** BigInt(parts.length)
    if (total > maxNanoseconds) return invalid
  }
  return { nanoseconds: isNegative ? -total : total }
}
