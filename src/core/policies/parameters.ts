import { isJsonNumber, type JsonValue } from '../../lib/json.ts'
import type { Grants, ParameterRules } from './grants.ts'

/** The fields of a request: the body of a write, the query of a read. */
export type RequestFields = Readonly<Record<string, unknown>>

/**
 * Whether the parameter rules allow these fields.
 * docs/contract/tokens-and-policies.md#parameters-wrapping-expiration
 */
export function parametersAllow(
  { requiredParameters, deniedParameters, allowedParameters }: Grants,
  fields: RequestFields,
): boolean {
  if (requiredParameters.some((name) => !Object.hasOwn(fields, name.toLowerCase()))) return false
  if (deniedParameters === undefined && allowedParameters === undefined) return true
  const names = Object.keys(fields)
  if (names.length === 0) return true
  if (deniedParameters !== undefined && names.some((name) => isDenied(deniedParameters, name, fields[name])))
    return false
  if (allowedParameters === undefined || (allowedParameters.size === 1 && allowedParameters.has('*')))
    return true
  return names.every((name) => isAllowed(allowedParameters, name, fields[name]))
}

function isDenied(denied: ParameterRules, name: string, value: unknown): boolean {
  if (denied.has('*')) return true
  const values = denied.get(name.toLowerCase())
  return values !== undefined && includesValue(values, value)
}

function isAllowed(allowed: ParameterRules, name: string, value: unknown): boolean {
  const values = allowed.get(name.toLowerCase())
  return values === undefined ? allowed.has('*') : includesValue(values, value)
}

const includesValue = (values: readonly JsonValue[], value: unknown): boolean =>
  values.length === 0 || values.some((expected) => equalsValue(expected, value))

/** Wildcards apply to top-level strings only, not inside lists and objects. */
const equalsValue = (expected: JsonValue, value: unknown): boolean =>
  typeof expected === 'string' && typeof value === 'string'
    ? matchesText(expected, value)
    : isDeepEqual(expected, value)

/** `*` may stand at the start, the end or both; a one-character pattern is literal. */
function matchesText(pattern: string, text: string): boolean {
  if (pattern.length < 2) return text === pattern
  const isStart = pattern.startsWith('*')
  const isEnd = pattern.endsWith('*')
  if (isStart && isEnd) return containsText(text, pattern.slice(1, -1))
  if (isStart) return text.endsWith(pattern.slice(1))
  return isEnd ? text.startsWith(pattern.slice(0, -1)) : text === pattern
}

/** Like `includes`, but linear in both texts even in the worst case (Knuth–Morris–Pratt). */
function containsText(text: string, part: string): boolean {
  if (part.length < 8) return text.includes(part)
  const borders = new Uint32Array(part.length)
  for (let at = 1, border = 0; at < part.length; at++) {
    while (border > 0 && part[at] !== part[border]) border = borders[border - 1] ?? 0
    if (part[at] === part[border]) border++
    borders[at] = border
  }
  let matched = 0
  for (let at = 0; at < text.length; at++) {
    while (matched > 0 && text[at] !== part[matched]) matched = borders[matched - 1] ?? 0
    if (text[at] === part[matched]) matched++
    if (matched === part.length) return true
  }
  return false
}

/** Recurses no deeper than the policy's value, whose depth is limited. */
function isDeepEqual(expected: JsonValue, value: unknown): boolean {
  if (isJsonNumber(expected)) return equalsNumber(expected.rawJSON, value)
  if (Array.isArray(expected)) {
    return (
      Array.isArray(value) &&
      value.length === expected.length &&
      expected.every((item, index) => isDeepEqual(item, value[index]))
    )
  }
  if (expected === null || typeof expected !== 'object') return expected === value
  if (!isRecord(value)) return false
  const entries = Object.entries(expected)
  return (
    entries.every(([key, item]) => Object.hasOwn(value, key) && isDeepEqual(item, value[key])) &&
    Object.keys(value).length === entries.length
  )
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isJsonNumber(value)

/** Compares by value, not by spelling; integers without rounding to a double. */
function equalsNumber(expected: string, value: unknown): boolean {
  const text = typeof value === 'number' ? String(value) : isJsonNumber(value) ? value.rawJSON : undefined
  if (text === undefined) return false
  if (text === expected) return true
  const isWhole = (digits: string) => /^-?\d+$/.test(digits)
  return Number(expected) === Number(text) && !(isWhole(expected) && isWhole(text) && Number(text) !== 0)
}
