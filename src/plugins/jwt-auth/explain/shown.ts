import { goText } from '../../../lib/text/go-text.ts'
import { isJsonNumber, type JsonValue, jsonNumber } from '../../../lib/text/json.ts'
import { maxShown } from '../../../logins/explain/proposing.ts'

const maxItems = 32

const cut = (text: string, longest = maxShown): string => text.slice(0, longest)

/** A value as an explanation shows it: texts and lists truncated, an object as its text. docs/explain.md */
export function shown(value: unknown, longest = maxShown): JsonValue {
  if (Array.isArray(value))
    return value
      .slice(0, maxItems)
      .map((item: unknown) => (Array.isArray(item) ? cut(goText(item)) : shown(item, longest)))
  if (value === undefined || value === null) return null
  if (typeof value === 'string') return cut(value, longest)
  if (typeof value === 'boolean' || isJsonNumber(value)) return value
  if (typeof value === 'bigint') return jsonNumber(cut(value.toString()))
  if (typeof value === 'number') return Number.isFinite(value) ? jsonNumber(JSON.stringify(value)) : null
  return cut(goText(value))
}

/** Several values, always as a list. */
export const shownList = (values: readonly unknown[]): JsonValue[] =>
  values.slice(0, maxItems).map((value) => shown(value))
