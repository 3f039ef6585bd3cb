import { compactVerify, decodeJwt, decodeProtectedHeader, errors, jwtVerify } from 'jose'
import type { Identity } from '../identity/entities/identity-store.ts'
import type { KeySet } from './published-keys.ts'
import { isSigningAlgorithm, verifierOf } from './signing-key.ts'

export type IntrospectionRequest = {
  readonly token: string
  /** The expected audience; empty accepts any. */
  readonly clientId: string
  readonly keys: KeySet
  readonly issuer: string
  /** Milliseconds since the epoch. */
  readonly now: number
  findIdentity(entityId: string): Promise<Identity | undefined>
}

const maxTokenLength = 524_288
const leewaySeconds = 60

/**
 * Why an identity token is invalid; undefined if it is valid. docs/contract/identity-tokens.md#introspection
 */
export async function identityTokenProblem(request: IntrospectionRequest): Promise<string | undefined> {
  const { token, clientId, keys, issuer, now } = request
  const header = headerOf(token)
  if (typeof header === 'string') return `error parsing token: ${header}`
  const key = keys.byId.get(header.kid)
  const verifier = key?.alg === header.alg ? await verifierOf(key) : undefined
  if (verifier === undefined || !(await isSigned(() => compactVerify(token, verifier))))
    return 'unable to validate the token signature'
  const expected = {
    issuer,
    clockTolerance: leewaySeconds,
    currentDate: new Date(now),
    ...(clientId === '' ? {} : { audience: clientId }),
  }
  const verified = await jwtVerify(token, verifier, expected).catch(messageOf)
  if (typeof verified === 'string') return `error validating claims: ${verified}`
  const { sub = '' } = verified.payload
  const identity = await request.findIdentity(sub)
  if (identity === undefined) return 'entity was not found'
  return identity.entity.disabled ? 'entity is disabled' : undefined
}

type TokenHeader = { readonly alg: string; readonly kid: string }

/** The header, or why the text cannot be one of our JWTs. */
function headerOf(token: string): TokenHeader | string {
  if (token.length > maxTokenLength) return 'the token is too long'
  try {
    decodeJwt(token)
    const { alg = '', kid = '' } = decodeProtectedHeader(token)
    return isSigningAlgorithm(alg) && typeof kid === 'string'
      ? { alg, kid }
      : 'unexpected signature algorithm'
  } catch (error) {
    return error instanceof errors.JOSEError || error instanceof TypeError
      ? 'not a signed JWT in compact form'
      : messageOf(error)
  }
}

async function isSigned(verify: () => Promise<unknown>): Promise<boolean> {
  try {
    await verify()
    return true
  } catch (error) {
    if (error instanceof errors.JOSEError) return false
    throw error
  }
}

/** The message of an error from jose. Rethrows any other error, which is a bug. */
function messageOf(error: unknown): string {
  if (error instanceof errors.JOSEError) return error.message
  throw error
}
