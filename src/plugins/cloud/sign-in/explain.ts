import { decodeJwt, decodeProtectedHeader } from 'jose'
import { type Circumstances, explainRefusal } from '../upstream/sign-in-refusals.ts'
import { UpstreamError } from '../upstream/upstream-error.ts'

/** What an assertion says of itself. */
export type AssertionClaims = { readonly issuer: string; readonly subject: string; readonly audience: string }

/** Reads an assertion without verifying it. Undefined if it is not a JWT. */
export function claimsIn(
  assertion: string,
): (AssertionClaims & { readonly keyId?: string | undefined; readonly expiresAt: number }) | undefined {
  try {
    const { iss = '', sub = '', aud = [], exp = Number.POSITIVE_INFINITY } = decodeJwt(assertion)
    const { kid: keyId } = decodeProtectedHeader(assertion)
    return { issuer: iss, subject: sub, audience: [aud].flat()[0] ?? '', keyId, expiresAt: exp * 1000 }
  } catch {
    return undefined
  }
}

export type Attempt = Circumstances & {
  readonly clientId: string
  /** Undefined if the attempt failed before there was one. */
  readonly assertion: string | undefined
  /** Whether this server issued the assertion. */
  readonly isOwn: boolean
  readonly now: number
}

/** Adds to a refusal by the login service why it refused this assertion, and what to do. */
export function explained(error: unknown, { assertion, now, isOwn, ...attempt }: Attempt): unknown {
  const claims = assertion === undefined ? undefined : claimsIn(assertion)
  if (!(error instanceof UpstreamError) || claims === undefined) return error
  const { expiresAt, ...said } = claims
  const endedAt = attempt.endedAt ?? (expiresAt <= now ? new Date(expiresAt).toISOString() : undefined)
  const jwksUri = isOwn ? `${said.issuer}/.well-known/keys` : undefined
  const presented = { ...said, clientId: attempt.clientId, jwksUri, at: now }
  const remedy = explainRefusal(error.code, presented, { ...attempt, endedAt })
  return remedy === undefined ? error : error.with({ remedy })
}
