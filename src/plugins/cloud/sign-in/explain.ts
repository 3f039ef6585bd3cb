import { decodeJwt } from 'jose'
import { explainRefusal } from '../upstream/sign-in-refusals.ts'
import { UpstreamError } from '../upstream/upstream-error.ts'

/** What an assertion says of itself. */
export type AssertionClaims = {
  readonly issuer: string
  readonly subject: string
  readonly audience: string
}

/** Reads an assertion without verifying it. Undefined if it is not a JWT. */
export function claimsIn(assertion: string): AssertionClaims | undefined {
  try {
    const { iss = '', sub = '', aud = [] } = decodeJwt(assertion)
    return { issuer: iss, subject: sub, audience: [aud].flat()[0] ?? '' }
  } catch {
    return undefined
  }
}

/** Adds to a refusal by the login service why it refused this assertion, and what to do. */
export function explained(error: unknown, clientId: string, assertion: string | undefined): unknown {
  const claims = assertion === undefined ? undefined : claimsIn(assertion)
  if (!(error instanceof UpstreamError) || claims === undefined) return error
  const jwksUri = `${claims.issuer}/.well-known/keys`
  const remedy = explainRefusal(error.code, { ...claims, clientId, jwksUri })
  if (remedy === undefined) return error
  return new UpstreamError({ ...error, message: error.message, cause: error.cause, remedy })
}
