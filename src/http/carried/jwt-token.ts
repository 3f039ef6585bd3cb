import { Buffer } from 'node:buffer'
import type { PresentedJwt } from '../../core/mounts/mount-type.ts'

/** Most characters of a token that may be a JWT. */
const maxLength = 65_536
/** Three parts, of which the first begins with a brace in base64url, as the header of a JWT does. */
const shape = /^e[w-z0-9_-][A-Za-z0-9_-]*\.([A-Za-z0-9_-]*)\.[A-Za-z0-9_-]*$/

/**
 * A token that has the shape of a JWT, and its issuer; `unusable` for one without an issuer, or with several roles.
 * Nothing is verified. docs/contract/inline-login.md#a-jwt-as-the-token
 */
export function presentedJwt(
  token: string,
  [role = '', ...moreRoles]: readonly string[],
): PresentedJwt | 'unusable' {
  const claims = objectIn(token.split('.')[1] ?? '')
  const issuer = claims !== undefined && 'iss' in claims ? claims.iss : undefined
  if (typeof issuer !== 'string' || moreRoles.length > 0) return 'unusable'
  return { jwt: token, issuer, role }
}

/** Whether a token has the shape of a JWT, which no token of ours has. */
export const isJwt = (token: string): boolean => token.length <= maxLength && shape.test(token)

/** The JSON object in the base64url text of a part. */
function objectIn(part: string): object | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
