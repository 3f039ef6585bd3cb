import { createHash, type KeyObject, X509Certificate } from 'node:crypto'
import { z } from 'zod'

/** A certificate cannot be used. The message says why and has no part of a key. */
export class UnusableCertificate extends Error {
  override readonly name = 'UnusableCertificate'
}

export const clientCertificate = z.object({
  /** PKCS#8, PEM. */
  private_key: z.string(),
  /** PEM. */
  certificate: z.string(),
  /** SHA-1 and SHA-256 of the certificate, in hexadecimal. */
  thumbprint: z.string(),
  thumbprint_sha256: z.string(),
  /** RFC 3339. */
  expiration: z.string(),
})

export type ClientCertificate = z.output<typeof clientCertificate>

export function certificateIn(source: string | Buffer): X509Certificate {
  try {
    const certificate = new X509Certificate(source)
    // `validToDate` of an unreadable time is any time
    if (!Number.isNaN(Date.parse(certificate.validTo))) return certificate
  } catch {
    // as below
  }
  throw new UnusableCertificate('the certificate cannot be read')
}

export function clientCertificateOf(certificate: X509Certificate, privateKey: KeyObject): ClientCertificate {
  const digest = (algorithm: string) => createHash(algorithm).update(certificate.raw).digest('hex')
  return {
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    certificate: certificate.toString(),
    thumbprint: digest('sha1'),
    thumbprint_sha256: digest('sha256'),
    expiration: certificate.validToDate.toISOString(),
  }
}

/** Whether the certificate has ended. `now` is in milliseconds since the epoch. */
export const hasEnded = ({ expiration }: Pick<ClientCertificate, 'expiration'>, now: number): boolean =>
  Date.parse(expiration) <= now
