import { Buffer } from 'node:buffer'
import type { JwtPayload, PresentedJwt } from '../../core/mounts/mount-type.ts'

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
  const payload = payloadIn(token.split('.')[1] ?? '')
  if (payload === undefined || !('iss' in payload.json) || moreRoles.length > 0) return 'unusable'
  const { iss: issuer } = payload.json
  return typeof issuer === 'string' ? { jwt: token, payload, issuer, role } : 'unusable'
}

/** Whether a token has the shape of a JWT, which no token of ours has. */
export const isJwt = (token: string): boolean => token.length <= maxLength && shape.test(token)

/** The JSON object in the base64url text of a part. */
function payloadIn(part: string): JwtPayload | undefined {
  try {
    const text = Buffer.from(part, 'base64url').toString('utf8')
    const json: unknown = JSON.parse(text)
    return typeof json === 'object' && json !== null && !Array.isArray(json) ? { text, json } : undefined
  } catch {
    return undefined
  }
}
