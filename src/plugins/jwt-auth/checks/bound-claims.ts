import { asList } from '../../../jwt/checks/claims.ts'
import type { StrictObject } from '../../../jwt/jws/strict-json.ts'
import { globMatches } from '../../../lib/text/glob.ts'
import { goText, quoted } from '../../../lib/text/go-text.ts'
import { isJsonNumber, type JsonValue, numberText } from '../../../lib/text/json.ts'
import { lookupClaim } from '../../../lib/text/json-pointer.ts'
import { type Refusal, refusal } from '../../../logins/refusals/refusal.ts'

/** How expected strings are compared: exactly, or with `*` as a wildcard for any run of characters. */
export type BoundClaimsType = 'string' | 'glob'

/** One entry of `bound_claims`, compiled once for many logins. */
export type BoundClaim = {
  readonly name: string
  readonly type: BoundClaimsType
  readonly expected: readonly Expected[] | { readonly unusable: string }
}

/**
 * One accepted value; `comparable` is undefined for values that equal nothing (fractions, lists, objects,
 * null). `text` is for error texts.
 */
type Expected = { readonly comparable: Comparable | undefined; readonly text: string }
type Comparable = string | number | bigint | boolean

/**
 * Compiles a role's `bound_claims`. Numbers are still literal text here (lib/text/json.ts), so no digit is lost.
 */
export function readyBoundClaims(
  boundClaims: { readonly [claim: string]: JsonValue } | null,
  type: BoundClaimsType,
): BoundClaim[] {
  return Object.entries(boundClaims ?? {}).map(([name, value]) => ({
    name,
    type,
    expected: expectedValues(value),
  }))
}

function expectedValues(value: JsonValue): BoundClaim['expected'] {
  if (Array.isArray(value)) return value.map(expectedValue)
  if (value === null || (typeof value === 'object' && !isJsonNumber(value)))
    return { unusable: goText(value) }
  return [expectedValue(value)]
}

function expectedValue(value: JsonValue): Expected {
  const text = goText(value)
  if (typeof value === 'string' || typeof value === 'boolean') return { comparable: value, text }
  return { comparable: isJsonNumber(value) ? integerOf(numberText(value)) : undefined, text }
}

/**
 * Only numbers written as whole numbers can match. Those beyond 2^53 become bigints, as a token's large
 * numbers do.
 */
function integerOf(text: string): number | bigint | undefined {
  if (!/^-?\d{1,400}$/.test(text)) return undefined
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : BigInt(text)
}

/**
 * An entry matches if any expected value equals any value of the claim; all entries of a role must match.
 * docs/contract/jwt.md#roles
 */
export function checkBoundClaim(claims: StrictObject, bound: BoundClaim): Refusal | undefined {
  const claim = lookupClaim(claims, bound.name)
  if (claim === undefined) return refusal('bound_claim_missing', `claim ${quoted(bound.name)} is missing`)
  const actual = asList(claim)
  if (actual === undefined)
    return refusal(
      'bound_claim_mismatch',
      `received claim is not a string, bool, int or list: ${goText(claim)}`,
    )
  if ('unusable' in bound.expected) {
    return refusal(
      'bound_claim_invalid',
      `bound claim is not a string, bool, int or list: ${bound.expected.unusable}`,
    )
  }
  const values = Array.isArray(claim) ? actual.map(listedValue) : actual.map(scalarValue)
  const matched = bound.type === 'glob' ? anyGlob(bound.expected, values) : anyEqual(bound.expected, values)
  if (typeof matched !== 'boolean') return matched
  return matched
    ? undefined
    : refusal(
        'bound_claim_mismatch',
        `claim ${quoted(bound.name)} does not match any associated bound claim values`,
      )
}

/** A scalar number is compared by its integer part. */
export function scalarValue(value: unknown): unknown {
  if (typeof value !== 'number' || !Number.isFinite(value)) return value
  const whole = Math.trunc(value)
  return Number.isSafeInteger(whole) ? whole : digitsOf(whole)
}

/**
 * The digits of a whole number that is too large to be exact. It was written with few digits and an exponent;
 * otherwise it would be a bigint.
 */
function digitsOf(value: number): bigint {
  const [mantissa = '', exponent = '0'] = String(value).split('e+')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return BigInt(whole + fraction.padEnd(Number(exponent), '0'))
}

/** Numbers inside a list match nothing. */
const listedValue = (value: unknown): unknown =>
  typeof value === 'string' || typeof value === 'boolean' ? value : undefined

const anyEqual = (expected: readonly Expected[], values: readonly unknown[]): boolean =>
  expected.some(({ comparable }) => comparable !== undefined && values.includes(comparable))

function anyGlob(expected: readonly Expected[], values: readonly unknown[]): boolean | Refusal {
  if (values.length === 0) return false
  for (const { comparable, text } of expected) {
    if (typeof comparable !== 'string')
      return refusal('bound_claim_invalid', `received claim is not a glob string: ${text}`)
    if (values.some((value) => typeof value === 'string' && globMatches(comparable, value))) return true
  }
  return false
}
