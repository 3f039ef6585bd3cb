import { createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { keyProblem, unsupportedKey } from './key-problem.ts'

const begin = '-----BEGIN '
const dashes = '-----'
/** `id-ecPublicKey`, as encoded in every EC key and certificate. */
const ecKeyType = Buffer.from('06072a8648ce3d0201', 'hex')

/** A key, or why the text does not contain one. */
export type ParsedPublicKey = { readonly key: KeyObject } | { readonly error: string }

/**
 * Parses one element of `jwt_validation_pubkeys`. The first PEM block, whatever its label, holds a
 * SubjectPublicKeyInfo or a certificate, of which only the key is used. docs/contract/jwt.md#keys
 */
export function parsePublicKeyPem(pem: string): ParsedPublicKey {
  const block = firstBlock(pem)
  if (block === undefined) return { error: unsupportedKey }
  if (block.rest.trim() !== '') return { error: 'unexpected trailing data after parsed PEM block' }
  const key = publicKeyOf(block.der)
  if (key === undefined) {
    const isEc = block.der.includes(ecKeyType)
    return {
      error: isEc
        ? 'x509: failed to unmarshal elliptic curve point: it is not on its curve'
        : 'x509: malformed tbs certificate',
    }
  }
  const problem = keyProblem(key)
  return problem === undefined ? { key } : { error: problem }
}

function firstBlock(pem: string): { der: Buffer; rest: string } | undefined {
  const start = pem.indexOf(begin)
  if (start < 0) return undefined
  const labelEnd = pem.indexOf(dashes, start + begin.length)
  if (labelEnd < 0) return undefined
  const end = `-----END ${pem.slice(start + begin.length, labelEnd)}${dashes}`
  const bodyEnd = pem.indexOf(end, labelEnd + dashes.length)
  if (bodyEnd < 0) return undefined
  const body = pem.slice(labelEnd + dashes.length, bodyEnd).replace(/\s/g, '')
  if (body === '' || /[^A-Za-z0-9+/=]/.test(body)) return undefined
  return { der: Buffer.from(body, 'base64'), rest: pem.slice(bodyEnd + end.length) }
}

function publicKeyOf(der: Buffer): KeyObject | undefined {
  try {
    return createPublicKey({ key: der, format: 'der', type: 'spki' })
  } catch {
    // not a bare key; it may be a certificate
  }
  try {
    return new X509Certificate(der).publicKey
  } catch {
    return undefined
  }
}
