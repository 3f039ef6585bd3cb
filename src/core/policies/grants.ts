import type { JsonValue } from '../../lib/json.ts'

/**
 * Parameter names, lower-cased, and the values each may or may not have; an empty list stands for any value.
 */
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

/**
 * All stanzas for one path, in the order they were read. Takes time by their total length.
 * docs/contract/tokens-and-policies.md#which-rule-decides
 */
export function mergeGrants(all: readonly Grants[]): Grants {
  if (all.some(({ isDeny }) => isDeny)) return denyGrants
  return {
    bits: all.reduce((bits, grants) => bits | grants.bits, 0),
    isDeny: false,
    allowedParameters: mergeParameters(all.map((grants) => grants.allowedParameters)),
    deniedParameters: mergeParameters(all.map((grants) => grants.deniedParameters)),
    requiredParameters: [...new Set(all.flatMap((grants) => grants.requiredParameters))],
    minWrappingTtlSeconds: smallest(all.map((grants) => grants.minWrappingTtlSeconds)),
    maxWrappingTtlSeconds: smallest(all.map((grants) => grants.maxWrappingTtlSeconds)),
  }
}

/**
 * The values of each parameter joined, later ones first; where one allows or denies any value, so does the
 * whole. Undefined when there are none.
 */
export function mergeParameters(
  all: readonly (Iterable<readonly [string, readonly JsonValue[]]> | undefined)[],
): ParameterRules | undefined {
  const merged = new Map<string, JsonValue[]>()
  const anyValue = new Set<string>()
  for (const rules of all.toReversed()) {
    for (const [name, values] of rules ?? []) {
      const known = merged.get(name)
      if (values.length === 0) anyValue.add(name)
      if (known === undefined) merged.set(name, [...values])
      else for (const value of values) known.push(value)
    }
  }
  for (const name of anyValue) merged.set(name, [])
  return merged.size === 0 ? undefined : merged
}

function smallest(all: readonly (number | undefined)[]): number | undefined {
  let found: number | undefined
  for (const seconds of all)
    if (seconds !== undefined && (found === undefined || seconds < found)) found = seconds
  return found
}
