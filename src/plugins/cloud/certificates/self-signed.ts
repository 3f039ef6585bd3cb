import { generateKeyPairSync, sign, X509Certificate } from 'node:crypto'
import * as asn1 from 'asn1js'
import * as pki from 'pkijs'
import { type ClientCertificate, clientCertificateOf } from './client-certificate.ts'

/** What is to be in a certificate. Times are in milliseconds since the epoch. */
export type CertificateContent = {
  readonly commonName: string
  readonly notBefore: number
  readonly notAfter: number
  /** Positive, and without a leading zero byte. */
  readonly serialNumber: Uint8Array
}

const bits = 2048
const commonNameOid = '2.5.4.3'
const sha256WithRsa = '1.2.840.113549.1.1.11'
const utcTime = 0
const generalizedTime = 1

/** Makes an RSA key and signs a certificate for it with itself, which takes a tenth of a second. */
export function makeSelfSigned({
  commonName,
  notBefore,
  notAfter,
  serialNumber,
}: CertificateContent): ClientCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: bits })
  const name = () =>
    new pki.AttributeTypeAndValue({ type: commonNameOid, value: new asn1.Utf8String({ value: commonName }) })
  const made = new pki.Certificate({
    version: 2,
    serialNumber: new asn1.Integer({ valueHex: Uint8Array.from(serialNumber).buffer }),
  })
  made.issuer.typesAndValues.push(name())
  made.subject.typesAndValues.push(name())
  const timeOf = (time: number) => {
    const value = new Date(Math.floor(time / 1000) * 1000)
    // RFC 5280 §4.1.2.5
    return new pki.Time({ type: value.getUTCFullYear() < 2050 ? utcTime : generalizedTime, value })
  }
  made.notBefore = timeOf(notBefore)
  made.notAfter = timeOf(notAfter)
  made.subjectPublicKeyInfo = pki.PublicKeyInfo.fromBER(publicKey.export({ type: 'spki', format: 'der' }))
  // the library's own `sign` omits the parameters, which RFC 4055 §5 requires
  made.signature = made.signatureAlgorithm = new pki.AlgorithmIdentifier({
    algorithmId: sha256WithRsa,
    algorithmParams: new asn1.Null(),
  })
  const signed = new Uint8Array(made.encodeTBS().toBER())
  made.tbsView = signed
  made.signatureValue = new asn1.BitString({
    valueHex: Uint8Array.from(sign('sha256', signed, privateKey)).buffer,
  })
  const certificate = new X509Certificate(Buffer.from(made.toSchema().toBER()))
  return clientCertificateOf(certificate, privateKey)
}
