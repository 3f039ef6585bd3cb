import { isJsonNumber } from './json.ts'

/** Claims, or another decoded JSON object. */
export type Claims = Readonly<Record<string, unknown>>

/**
 * The value of a claim. `key` is an RFC 6901 pointer if it begins with `/`, otherwise a top-level key.
 * Returns undefined if any step is missing or null. Reads own properties only. docs/contract/jwt.md#roles
 */
export function lookupClaim(claims: Claims, key: string): unknown {
  let value: unknown = claims
  for (const step of stepsOf(key)) {
    value = child(value, step)
    if (value === undefined || value === null) return undefined
  }
  return value
}

/**
 * Sets a value where `lookupClaim` finds it. Returns false and changes nothing if the parent is missing or a
 * list has no such index. The key `__proto__` becomes an own property. docs/contract/jwt.md#roles
 */
export function setClaim(claims: Record<string, unknown>, key: string, value: unknown): boolean {
  const steps = stepsOf(key)
  const last = steps.at(-1) ?? ''
  let parent: unknown = claims
  for (const step of steps.slice(0, -1)) parent = child(parent, step)
  if (typeof parent !== 'object' || parent === null || isJsonNumber(parent)) return false
  if (Array.isArray(parent) && indexOf(parent, last) === undefined) return false
  Object.defineProperty(parent, last, { value, enumerable: true, writable: true, configurable: true })
  return true
}

/** The names on the way to a claim; never empty. */
export const stepsOf = (key: string): string[] =>
  key.startsWith('/')
    ? key
        .slice(1)
        .split('/')
        .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    : [key]

function child(value: unknown, step: string): unknown {
  if (typeof value !== 'object' || value === null || isJsonNumber(value)) return undefined
  if (Array.isArray(value)) {
    const index = indexOf(value, step)
    return index === undefined ? undefined : value[index]
  }
  // a descriptor exists for own properties only
  return Object.getOwnPropertyDescriptor(value, step)?.value
}

function indexOf(list: readonly unknown[], step: string): number | undefined {
  if (!/^(?:0|[1-9]\d{0,8})$/.test(step)) return undefined
  const index = Number(step)
  return index < list.length ? index : undefined
}
