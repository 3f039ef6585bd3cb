import { hash, type KeyObject } from 'node:crypto'

/** Computed once for each key. */
const known = new WeakMap<KeyObject, string>()

/** The SHA-256 thumbprint of a public key, in base64url: 43 characters. RFC 7638, RFC 8037 appendix A.3 */
export function thumbprintOf(key: KeyObject): string {
  const found = known.get(key)
  if (found !== undefined) return found
  const { crv, e, kty, n, x, y } = key.export({ format: 'jwk' })
  // the required members in the order of their names; absent ones are left out
  const thumbprint = hash('sha256', JSON.stringify({ crv, e, kty, n, x, y }), 'base64url')
  known.set(key, thumbprint)
  return thumbprint
}

/** Whether a text can be the thumbprint of a key. */
export const isThumbprint = (text: string): boolean =>
  text.length === 43 && Buffer.from(text, 'base64url').toString('base64url') === text

/** The thumbprints of the keys whose signatures count; undefined: those of all keys. */
export type AllowedKeys = ReadonlySet<string> | undefined

export const isAllowed = (key: KeyObject, allowed: AllowedKeys): boolean =>
  allowed === undefined || allowed.has(thumbprintOf(key))
