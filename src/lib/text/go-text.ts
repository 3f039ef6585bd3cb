import { Buffer } from 'node:buffer'
import { isJsonNumber } from './json.ts'

const maxDepth = 16
const maxLength = 256

/** Truncates a caller's text so that an error text can repeat it. */
export const excerpt = (text: string, length = maxLength): string =>
  text.length > length ? `${text.slice(0, length)}…` : text

/**
 * A text as Go's `%q` prints it (https://pkg.go.dev/strconv#Quote), truncated: in double quotes, with quotes,
 * backslashes and unprintable characters escaped.
 */
export const quoted = (text: string, length = maxLength): string =>
  `"${excerpt(text, length).toWellFormed().replace(unquotable, escaped)}"`

/** Characters to escape. Letters, marks, numbers, punctuation, symbols and U+0020 are printable. */
const unquotable = /["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu

/** Characters that Go and CEL escape by one letter, or by themselves. */
export const shortEscapes: ReadonlyMap<string, string> = new Map([
  ['"', '\\"'],
  ['\\', '\\\\'],
  ['\u0007', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
])

function escaped(char: string): string {
  const short = shortEscapes.get(char)
  if (short !== undefined) return short
  const code = char.codePointAt(0) ?? 0
  if (code < 0x80) return `\\x${hex(code, 2)}`
  return code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`
}

const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, '0')

/**
 * A text as Go's `time` package quotes it, truncated: in double quotes, with each byte that is not printable
 * ASCII as `\x..`.
 */
export function byteQuoted(text: string): string {
  const escaped = excerpt(text).replace(/["\\]/g, '\\$&')
  return `"${escaped.replace(/[^ -~]/gu, (character) => Buffer.from(character).toString('hex').replace(/../g, '\\x$&'))}"`
}

/** A value as Go's `%v` prints it, truncated: `[a b]`, `map[k:v]` with sorted keys, `<nil>`. */
export const goText = (value: unknown): string => excerpt(render(value, maxDepth))

function render(value: unknown, depth: number): string {
  if (value === null || value === undefined) return '<nil>'
  if (isJsonNumber(value)) return value.rawJSON
  if (typeof value !== 'object') return String(value)
  if (depth === 0) return '…'
  if (Array.isArray(value))
    return `[${value
      .slice(0, maxLength)
      .map((item) => render(item, depth - 1))
      .join(' ')}]`
  const entries = Object.entries(value)
    .slice(0, maxLength)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return `map[${entries.map(([key, item]) => `${key}:${render(item, depth - 1)}`).join(' ')}]`
}
