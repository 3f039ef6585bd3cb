import { decodeJwt, decodeProtectedHeader, type JWTPayload, type ProtectedHeaderParameters } from 'jose'

/** A signed assertion, before its signature is verified. */
export type Assertion = { text: string; header: ProtectedHeaderParameters; claims: JWTPayload }

/** Undefined if the text is not a signed JWT with an issuer and a subject. */
export function readAssertion(text: string): Assertion | undefined {
  try {
    return { text, header: decodeProtectedHeader(text), claims: decodeJwt(text) }
  } catch {
    return undefined
  }
}

/** The audiences of an assertion: one text or several. */
export const audiencesOf = ({ claims }: Assertion): string[] => [claims.aud ?? []].flat()

/** Whether the assertion is valid now; `skewSeconds` is the tolerance on both ends. */
export function isInTime({ claims: { nbf, exp } }: Assertion, nowMs: number, skewSeconds: number): boolean {
  const now = nowMs / 1000
  return exp !== undefined && now < exp + skewSeconds && (nbf === undefined || now >= nbf - skewSeconds)
}
