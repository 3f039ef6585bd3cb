import type { JsonValue } from '../../lib/text/json.ts'

/** Lower-cased parameter names, each with its allowed or denied values; an empty list means any value. */
export type ParameterRules = ReadonlyMap<string, readonly JsonValue[]>

/** What one rule grants on the paths it decides. */
export type Grants = {
  /** See `capabilityBits`. A rule with no bits grants nothing but still takes precedence over others. */
  readonly bits: number
  /** Grants nothing and overrides all other stanzas for the same path. */
  readonly isDeny: boolean
  readonly allowedParameters: ParameterRules | undefined
  readonly deniedParameters: ParameterRules | undefined
  /** Spelled as in the policy. */
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
 * Merges all stanzas for one path, given in the order they were read. Takes time linear in their total
 * length. docs/contract/tokens-and-policies.md#which-rule-decides
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
 * Joins the values of each parameter, later rules first. If one rule covers any value, so does the result.
 * Undefined if there are no rules.
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
