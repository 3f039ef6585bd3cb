import { z } from 'zod'

/** Stored texts by key. zod's own record would drop a key named `__proto__`. */
export const textMap = z.custom<Record<string, string>>(isTextMap)

function isTextMap(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((text) => typeof text === 'string')
  )
}
