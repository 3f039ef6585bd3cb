import { isJsonNumber } from '../json.ts'

const maxDepth = 16
const maxLength = 256

/** Cuts what a caller sent to a length that may be repeated in an error text. */
export const excerpt = (text: string, length = maxLength): string =>
  text.length > length ? `${text.slice(0, length)}…` : text

/**
 * A text in double quotes for an error text, as Go writes one: quotes, backslashes and all that cannot be
 * printed are escaped. docs/contract/messages.md#checks
 */
export const quoted = (text: string, length = maxLength): string =>
  `"${excerpt(text, length).toWellFormed().replace(unquotable, escaped)}"`

/** What Go does not print: all but letters, marks, numbers, punctuation, symbols and the blank. */
const unquotable = /["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu

const shortEscapes: ReadonlyMap<string, string> = new Map([
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
 * A decoded value as error texts show it: `[a b]`, `map[k:v]` with sorted keys, `<nil>`. Never longer than a
 * few hundred characters.
 */
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
