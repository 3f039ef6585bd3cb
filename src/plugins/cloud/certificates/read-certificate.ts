import { createPrivateKey, createPublicKey, type KeyObject, type X509Certificate } from 'node:crypto'
import {
  type ClientCertificate,
  certificateIn,
  clientCertificateOf,
  hasEnded,
  UnusableCertificate,
} from './client-certificate.ts'
import { type CertificateParts, readEncryptedKey, readPfx } from './pfx.ts'

const longestText = 65_536
const leastKeyBits = 2048
/** A signature with a larger key keeps a thread busy for long. */
const mostKeyBits = 16_384

/**
 * Reads a private key and its certificate from PEM or PFX in base64. Throws `UnusableCertificate`.
 * docs/contract/cloud.md#certificates
 */
export async function readCertificate(
  text: string,
  password: string,
  now: number,
): Promise<ClientCertificate> {
  if (text.length > longestText) throw new UnusableCertificate(`it has more than ${longestText} characters`)
  const parts = text.includes('-----BEGIN ') ? await readPem(text, password) : await readPfx(text, password)
  const [key, another] = parts.keys
  if (key === undefined) throw new UnusableCertificate('there is no private key')
  if (another !== undefined) throw new UnusableCertificate('there is more than one private key')
  if (parts.certificates.length === 0) throw new UnusableCertificate('there is no certificate')
  if (key.asymmetricKeyType !== 'rsa') throw new UnusableCertificate('the private key is not an RSA key')
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  if (bits < leastKeyBits)
    throw new UnusableCertificate(`the RSA key has ${bits} bits, and at least ${leastKeyBits} are required`)
  if (bits > mostKeyBits)
    throw new UnusableCertificate(`the RSA key has ${bits} bits, and at most ${mostKeyBits} are accepted`)
  const own = createPublicKey(key)
  const certificate = parts.certificates.find((one) => hasKey(one, own))
  if (certificate === undefined)
    throw new UnusableCertificate('the private key does not match the certificate')
  const read = clientCertificateOf(certificate, key)
  if (hasEnded(read, now)) throw new UnusableCertificate(`the certificate has ended on ${read.expiration}`)
  return read
}

/** Other certificates in the file may have keys of any kind. */
function hasKey(certificate: X509Certificate, own: KeyObject): boolean {
  try {
    return certificate.publicKey.equals(own)
  } catch {
    return false
  }
}

const block = /-----BEGIN ([A-Z0-9 ]{1,40})-----[^-]+-----END \1-----/g

async function readPem(text: string, password: string): Promise<CertificateParts> {
  const keys: KeyObject[] = []
  const certificates: X509Certificate[] = []
  for (const [pem, label = ''] of text.matchAll(block)) {
    // more keys are refused anyway, and each may cost processor time
    if (keys.length > 1) break
    if (label === 'CERTIFICATE') certificates.push(certificateIn(pem))
    else if (label === 'ENCRYPTED PRIVATE KEY') keys.push(await readEncryptedKey(derOf(pem), password))
    else if (label.endsWith('PRIVATE KEY')) keys.push(keyIn(pem, password))
  }
  return { keys, certificates }
}

const derOf = (pem: string): Buffer => Buffer.from(pem.replace(/-----[A-Z0-9 ]+-----/g, ''), 'base64')

function keyIn(pem: string, password: string): KeyObject {
  const isEncrypted = /ENCRYPTED/.test(pem)
  try {
    // without a passphrase, an encrypted key would be asked for on the terminal
    return createPrivateKey({ key: pem, passphrase: password })
  } catch {
    throw new UnusableCertificate(isEncrypted ? 'wrong password' : 'the private key cannot be read')
  }
}
