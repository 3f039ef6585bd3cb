import { createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { isUsableKey } from './signature.ts'

const begin = '-----BEGIN '
const dashes = '-----'
const noKey = 'data does not contain any valid public keys'

/** A key, or why the text holds none. */
export type ParsedPublicKey = { readonly key: KeyObject } | { readonly error: string }

/**
 * One element of `jwt_validation_pubkeys`: the first PEM block, of whatever label, holds a SubjectPublicKeyInfo or a certificate, of which only the
 * key counts. Contract jwt-oidc §7.2.
 */
export function parsePublicKeyPem(pem: string): ParsedPublicKey {
  const block = firstBlock(pem)
  if (block === undefined) return { error: noKey }
  if (block.rest.trim() !== '') return { error: 'unexpected trailing data after parsed PEM block' }
  const key = publicKeyOf(block.der)
  if (key === undefined) return { error: 'x509: malformed tbs certificate' }
  return isUsableKey(key) ? { key } : { error: noKey }
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
    // not a bare key: perhaps a certificate
  }
  try {
    return new X509Certificate(der).publicKey
  } catch {
    return undefined
  }
}
