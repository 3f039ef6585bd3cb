import { createPrivateKey } from 'node:crypto'
import { open } from 'node:fs/promises'
import { SignJWT } from 'jose'
import type { Clock } from '../../../lib/system/clock.ts'
import { systemCode } from '../../../lib/system/private-file.ts'
import type { Random } from '../../../lib/system/random.ts'
import type { ClientCertificate } from '../certificates/client-certificate.ts'
import type { Proof } from '../upstream/transport.ts'
import { UpstreamError } from '../upstream/upstream-error.ts'

const assertionSeconds = 600
const largestTokenFile = 16_384
/** The resource that proofs of possession of a key are for. */
const directoryAudience = '00000002-0000-0000-c000-000000000000'

type SigningParts = { readonly clock: Clock; readonly identifiers: Pick<Random, 'uuid'> }

/** Proves the possession of a certificate's key to the login service. Signs outside of the event loop. */
export function certificateProof(
  clientId: string,
  { private_key, thumbprint_sha256 }: ClientCertificate,
  { clock, identifiers }: SigningParts,
): Proof {
  const key = createPrivateKey(private_key)
  const header = { alg: 'PS256', typ: 'JWT', 'x5t#S256': base64url(thumbprint_sha256) }
  return {
    assertion: (tokenEndpoint) => {
      const now = Math.floor(clock.now() / 1000)
      return new SignJWT({ jti: identifiers.uuid() })
        .setProtectedHeader(header)
        .setIssuer(clientId)
        .setSubject(clientId)
        .setAudience(tokenEndpoint)
        .setIssuedAt(now)
        .setNotBefore(now)
        .setExpirationTime(now + assertionSeconds)
        .sign(key)
    },
  }
}

/**
 * Lets a certificate of an application add or remove a key there.
 * https://learn.microsoft.com/graph/application-rollkey-prooftoken
 */
export function possessionProof(
  applicationObjectId: string,
  { private_key, thumbprint }: ClientCertificate,
  clock: Clock,
): Promise<string> {
  const now = Math.floor(clock.now() / 1000)
  return new SignJWT({})
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', x5t: base64url(thumbprint) })
    .setIssuer(applicationObjectId)
    .setAudience(directoryAudience)
    .setNotBefore(now)
    .setExpirationTime(now + assertionSeconds)
    .sign(createPrivateKey(private_key))
}

/** Reads the token that Kubernetes renews in this file. */
export async function tokenInFile(path: string): Promise<string> {
  try {
    await using file = await open(path)
    const bytes = Buffer.alloc(largestTokenFile + 1)
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0)
    const token = bytes.subarray(0, bytesRead).toString().trim()
    if (bytesRead > largestTokenFile) throw tokenFileFailure(`it has more than ${largestTokenFile} bytes`)
    if (token === '') throw tokenFileFailure('it is empty')
    return token
  } catch (error) {
    throw error instanceof UpstreamError ? error : tokenFileFailure(systemCode(error))
  }
}

const tokenFileFailure = (why: string) =>
  UpstreamError.of(
    { service: 'login', operation: 'token' },
    'token_file',
    `the token file cannot be used: ${why}`,
  )

const base64url = (hexadecimal: string): string => Buffer.from(hexadecimal, 'hex').toString('base64url')
