import { shortEscapes } from '../../../../lib/text/go-text.ts'
import { formatInstant } from '../../../../lib/text/time.ts'
import {
  CelMap,
  Duration,
  isList,
  nanosOfSecond,
  noOverload,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from './values.ts'
import type { Work } from './work.ts'

/** A double as Go prints its shortest text, but whole numbers below 2^53 in digits. docs/contract/cel.md#numbers */
export function doubleText(value: number, work: Work): string {
  return noted(value, shownDouble(value), work)
}

/** The text that is made of a number, which is remembered if it may be that of several numbers. */
export function noted(value: Value, text: string, work: Work): string {
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) work.noteShared(text)
  return text
}

function shownDouble(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf'
  if (Number.isSafeInteger(value)) return Object.is(value, -0) ? '-0' : String(value)
  const [digits = '', power = '0'] = value.toExponential().split('e')
  const exponent = Number(power)
  if (exponent >= -4 && exponent < 6) return String(value)
  return `${digits}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`
}

/** `3600s`, `1.5s` */
function durationText({ nanos }: Duration): string {
  const size = nanos < 0n ? -nanos : nanos
  const rest = String(size % nanosOfSecond)
    .padStart(9, '0')
    .replace(/0+$/, '')
  return `${nanos < 0n ? '-' : ''}${size / nanosOfSecond}${rest === '' ? '' : `.${rest}`}s`
}

/** The text of a scalar value, as `string()` makes it. */
export function scalarText(value: Value, work: Work): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return doubleText(value, work)
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  if (value instanceof Uint) return String(value.value)
  if (value instanceof Timestamp) return formatInstant(value.nanos)
  if (value instanceof Duration) return durationText(value)
  throw noOverload()
}

/** What a format prints of a number that has no digits; undefined for any other value. */
export const specialText = (value: Value): string | undefined =>
  typeof value === 'number' && !Number.isFinite(value) ? String(value) : undefined

/** Any value, as `%s` prints it. */
export function formattedText(value: Value, work: Work, depth = 0): string {
  work.level(depth)
  if (value === null) return 'null'
  if (value instanceof Uint8Array) {
    work.text(value.length)
    return Buffer.from(value).toString()
  }
  if (value instanceof TypeValue) return value.name
  const special = specialText(value)
  if (special !== undefined) return special
  if (isList(value))
    return inBrackets(
      '[]',
      value.map((item) => formattedText(item, work, depth + 1)),
      work,
    )
  if (!(value instanceof CelMap)) return scalarText(value, work)
  const entries = value
    .entries()
    .map(([key, item]) => `${formattedText(key, work)}: ${formattedText(item, work, depth + 1)}`)
  return inBrackets('{}', entries.sort(), work)
}

function inBrackets([open, close]: string, texts: readonly string[], work: Work): string {
  work.text(texts.reduce((length, text) => length + text.length + 2, 0))
  return `${open}${texts.join(', ')}${close}`
}

/** A text as a literal of CEL. */
export const quotedText = (text: string): string =>
  `"${text.toWellFormed().replace(/[\x07\b\f\n\r\t\v\\"]/g, (char) => shortEscapes.get(char) ?? char)}"`
