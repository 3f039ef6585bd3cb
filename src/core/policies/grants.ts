import type { JsonValue } from '../../lib/json.ts'

/** Parameter names, lower-cased, and the values each may or may not have; an empty list stands for any value. */
export type ParameterRules = ReadonlyMap<string, readonly JsonValue[]>

/** What one rule gives on the paths it decides about. */
export type Grants = {
  /** See `capabilityBits`. None: the rule permits nothing, but hides others. */
  readonly bits: number
  /** Nothing at all, and nothing of the same path can add to it. */
  readonly isDeny: boolean
  readonly allowedParameters: ParameterRules | undefined
  readonly deniedParameters: ParameterRules | undefined
  /** As written. */
  readonly requiredParameters: readonly string[]
  readonly minWrappingTtlSeconds: number | undefined
  readonly maxWrappingTtlSeconds: number | undefined
}

export const denyGrants: Grants = {
  bits: 0,
  isDeny: true,
  allowedParameters: undefined,
  deniedParameters: undefined,
  requiredParameters: [],
  minWrappingTtlSeconds: undefined,
  maxWrappingTtlSeconds: undefined,
}

/** Two stanzas for the same path. Contract tokens §4.4. */
export function mergeGrants(first: Grants, second: Grants): Grants {
  if (first.isDeny || second.isDeny) return denyGrants
  return {
    bits: first.bits | second.bits,
    isDeny: false,
    allowedParameters: mergeParameters(first.allowedParameters, second.allowedParameters),
    deniedParameters: mergeParameters(first.deniedParameters, second.deniedParameters),
    requiredParameters: [...new Set([...first.requiredParameters, ...second.requiredParameters])],
    minWrappingTtlSeconds: smaller(first.minWrappingTtlSeconds, second.minWrappingTtlSeconds),
    maxWrappingTtlSeconds: smaller(first.maxWrappingTtlSeconds, second.maxWrappingTtlSeconds),
  }
}

/** The values of one parameter from two places: any value in either stays any value. */
export const mergeValues = (first: readonly JsonValue[], second: readonly JsonValue[]): readonly JsonValue[] =>
  first.length === 0 || second.length === 0 ? [] : [...second, ...first]

function mergeParameters(first: ParameterRules | undefined, second: ParameterRules | undefined): ParameterRules | undefined {
  if (first === undefined || second === undefined) return first ?? second
  const merged = new Map(first)
  for (const [name, values] of second) {
    const known = merged.get(name)
    merged.set(name, known === undefined ? values : mergeValues(known, values))
  }
  return merged
}

const smaller = (first: number | undefined, second: number | undefined): number | undefined =>
  first === undefined || second === undefined ? (first ?? second) : Math.min(first, second)
