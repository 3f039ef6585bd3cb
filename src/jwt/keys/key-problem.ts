import type { KeyObject } from 'node:crypto'
import { Point } from '@noble/ed25519'
import { excerpt } from '../../lib/text/go-text.ts'

const leastRsaBits = 2048
/** OpenSSL refuses to verify with a longer modulus. */
const greatestRsaBits = 16_384
const greatestExponent = 2n ** 32n - 1n
const curves: ReadonlySet<string | undefined> = new Set(['prime256v1', 'secp384r1', 'secp521r1'])

/** A key type or curve that no supported algorithm uses. */
export const unsupportedKey = 'data does not contain any valid public keys'

/**
 * Why a public key must not verify tokens; undefined if it may. Keys are checked when they arrive, because
 * anybody can forge signatures for a weak key: with exponent 1 a signature is the message itself, and a point
 * of small order needs no private key. docs/contract/jwt.md#keys, RFC 8017 §3.1, NIST SP 800-56B §6.2.
 */
export function keyProblem(key: KeyObject): string | undefined {
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return rsaProblem(key)
    case 'ec':
      return ecProblem(key)
    case 'ed25519':
      return ed25519Problem(key)
    default:
      return unsupportedKey
  }
}

function rsaProblem(key: KeyObject): string | undefined {
  const { modulusLength: bits = 0, publicExponent: exponent = 0n } = key.asymmetricKeyDetails ?? {}
  if (bits < leastRsaBits) return `the RSA modulus has ${bits} bits, fewer than ${leastRsaBits}`
  if (bits > greatestRsaBits) return `the RSA modulus has ${bits} bits, more than ${greatestRsaBits}`
  if (exponent < 3n || exponent % 2n === 0n || exponent > greatestExponent) {
    return `the RSA exponent ${excerpt(exponent.toString(), 24)} is not an odd number from 3 to ${greatestExponent}`
  }
  return isOdd(key) ? undefined : 'the RSA modulus is even'
}

function isOdd(key: KeyObject): boolean {
  const modulus = Buffer.from(key.export({ format: 'jwk' }).n ?? '', 'base64url')
  return ((modulus.at(-1) ?? 0) & 1) === 1
}

/** OpenSSL accepts only points on the curve and the point at infinity, which no JWK can express. */
function ecProblem(key: KeyObject): string | undefined {
  if (!curves.has(key.asymmetricKeyDetails?.namedCurve)) return unsupportedKey
  try {
    key.export({ format: 'jwk' })
    return undefined
  } catch {
    return 'the EC point is at infinity'
  }
}

/** OpenSSL accepts any 32 bytes as an Ed25519 key. RFC 8032 §5.1.3. */
function ed25519Problem(key: KeyObject): string | undefined {
  try {
    const point = Point.fromBytes(Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url'))
    return point.isSmallOrder() ? 'the Ed25519 point has a small order' : undefined
  } catch {
    return 'the Ed25519 point is not on its curve'
  }
}
