import { edgeGlobMatches } from '../../lib/glob.ts'
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
    ? edgeGlobMatches(expected, value)
    : isDeepEqual(expected, value)

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
