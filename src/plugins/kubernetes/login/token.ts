import { type Algorithm, isSupportedAlgorithm } from '../../../jwt/jws/algorithms.ts'
import { type Jws, parseClaims, parseJws } from '../../../jwt/jws/jws.ts'
import type { StrictObject } from '../../../jwt/jws/strict-json.ts'
import { shapeOf } from '../../../jwt/jws/token-shape.ts'
import { discreetRefusal, type Refusal, refusal } from '../../../logins/refusals/refusal.ts'

/** A token whose claims are read, and not checked. */
export type ReadToken = { readonly jws: Jws; readonly algorithm: Algorithm; readonly claims: StrictObject }

/** A file ends with a line end, which is no part of the token. */
export const trimmedJwt = (jwt: string): string => jwt.trimEnd()

/** docs/contract/kubernetes.md#login-in-this-order */
export function readToken(jwt: string, maxTokenSize: number): ReadToken | Refusal {
  if (/[^\w.-]/.test(jwt)) return malformed('it has other characters than those of a JWT')
  const jws = parseJws(jwt, { maxTokenSize })
  if ('malformed' in jws) return malformed(`${jws.malformed}: ${shapeOf(jwt)?.words ?? 'no JWT'}`)
  if (!isSupportedAlgorithm(jws.algorithm)) return malformed('its algorithm needs no key of a cluster')
  const claims = parseClaims(jws.payload)
  return claims === undefined
    ? malformed('its claims are no JSON object')
    : { jws, algorithm: jws.algorithm, claims }
}

const malformed = (cause: string): Refusal =>
  discreetRefusal('token_malformed', { text: 'permission denied', cause: `the token is no JWT: ${cause}` })

/** Clusters sign with RSA (PKCS #1) and EC keys. */
export function algorithmRefusal(algorithm: Algorithm, hasKeys: boolean): Refusal | undefined {
  if (/^(?:RS|ES)/.test(algorithm)) return undefined
  const text = 'invalid algorithm (alg) header parameter: token signed with unexpected algorithm'
  return hasKeys
    ? discreetRefusal('algorithm_not_allowed', { text: 'permission denied', cause: text })
    : refusal('algorithm_not_allowed', text)
}
