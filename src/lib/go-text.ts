import { isJsonNumber } from './json.ts'

const maxDepth = 16
const maxLength = 256

/** Cuts what a caller sent to a length that may be repeated in an error text. */
export const excerpt = (text: string, length = maxLength): string => (text.length > length ? `${text.slice(0, length)}…` : text)

/** A text in double quotes for an error text; control characters, quotes and backslashes are escaped. */
export const quoted = (text: string, length = maxLength): string => JSON.stringify(excerpt(text, length))

/** A decoded value as error texts show it: `[a b]`, `map[k:v]` with sorted keys, `<nil>`. Never longer than a few hundred characters. */
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
