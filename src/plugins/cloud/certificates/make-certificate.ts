import { createPublicKey, webcrypto, X509Certificate } from 'node:crypto'
import type { Random } from '../../../lib/random.ts'
import { type ClientCertificate, clientCertificateOf } from './client-certificate.ts'
import { makeKey } from './key-thread.ts'

type Wanted = {
  readonly commonName: string
  /** In milliseconds since the epoch. */
  readonly now: number
  readonly seconds: number
  readonly random: Pick<Random, 'bytes'>
}

const rsa = {
  name: 'RSASSA-PKCS1-v1_5',
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
  hash: 'SHA-256',
} as const
const commonNameOid = '2.5.4.3'
const sha256WithRsa = '1.2.840.113549.1.1.11'
const serialBytes = 16
const utcTime = 0
const generalizedTime = 1
/** A hundred years: the end must be a valid date. */
const mostSeconds = 100 * 365 * 86_400
/** The clocks of the cloud may be behind ours. */
const backdatedMs = 300_000

/**
 * Makes an RSA key of 2048 bits and signs a certificate for it with itself. The key is made by another
 * thread.
 */
export async function makeCertificate({
  commonName,
  now,
  seconds,
  random,
}: Wanted): Promise<ClientCertificate> {
  const [asn1, pki] = await Promise.all([import('asn1js'), import('pkijs')])
  const key = await makeKey()
  const privateKey = key.toCryptoKey(rsa, false, ['sign'])
  const publicKey = createPublicKey(key).toCryptoKey(rsa, true, ['verify'])
  const name = () =>
    new pki.AttributeTypeAndValue({
      type: commonNameOid,
      value: new asn1.Utf8String({ value: commonName }),
    })
  const made = new pki.Certificate({
    version: 2,
    serialNumber: new asn1.Integer({ valueHex: serialNumber(random) }),
  })
  made.issuer.typesAndValues.push(name())
  made.subject.typesAndValues.push(name())
  const timeOf = (time: number) => {
    const value = new Date(Math.floor(time / 1000) * 1000)
    // RFC 5280 §4.1.2.5
    return new pki.Time({ type: value.getUTCFullYear() < 2050 ? utcTime : generalizedTime, value })
  }
  made.notBefore = timeOf(now - backdatedMs)
  made.notAfter = timeOf(now + Math.min(seconds, mostSeconds) * 1000)
  await made.subjectPublicKeyInfo.importKey(publicKey)
  // the library's own `sign` omits the parameters, which RFC 4055 §5 requires
  made.signature = made.signatureAlgorithm = new pki.AlgorithmIdentifier({
    algorithmId: sha256WithRsa,
    algorithmParams: new asn1.Null(),
  })
  const signed = new Uint8Array(made.encodeTBS().toBER())
  made.tbsView = signed
  const signature = await webcrypto.subtle.sign(rsa.name, privateKey, signed)
  made.signatureValue = new asn1.BitString({ valueHex: signature })
  const certificate = new X509Certificate(Buffer.from(made.toSchema().toBER()))
  return clientCertificateOf(certificate, key)
}

/** Positive, and without a leading zero byte. */
function serialNumber(random: Pick<Random, 'bytes'>): ArrayBuffer {
  const bytes = Uint8Array.from(random.bytes(serialBytes))
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40
  return bytes.buffer
}
