import { createHash, type KeyObject, randomUUID, X509Certificate } from 'node:crypto'
import type { Lived } from './consistency.ts'

/** A certificate of an application, whose private key signs assertions. */
export type KeyCredential = Lived & {
  keyId: string
  displayName: string | null
  usage: string
  type: string
  startsAt: number
  endsAt: number
  /** The certificate in DER. */
  bytes: Buffer
  publicKey: KeyObject
  /** Added by a test, not through the API. */
  fixture: boolean
}

type Times = { startsAt?: number | undefined; endsAt?: number | undefined }

/** Throws for anything but a certificate in PEM or DER. Without times it has those of the certificate. */
export function makeKeyCredential(
  certificate: string | Buffer,
  {
    startsAt,
    endsAt,
    ...fields
  }: { createdAt: number; displayName?: string | null; fixture?: boolean } & Times,
): KeyCredential {
  const parsed = new X509Certificate(certificate)
  return {
    keyId: randomUUID(),
    displayName: null,
    usage: 'Verify',
    type: 'AsymmetricX509Cert',
    fixture: false,
    ...fields,
    startsAt: startsAt ?? parsed.validFromDate.getTime(),
    endsAt: endsAt ?? parsed.validToDate.getTime(),
    bytes: parsed.raw,
    publicKey: parsed.publicKey,
  }
}

export const liveKeys = ({ keys }: { keys: readonly KeyCredential[] }): KeyCredential[] =>
  keys.filter(({ deletedAt }) => deletedAt === undefined)

/** Upper-case SHA-1 thumbprint: how the directory identifies a certificate. */
const thumbprintOf = ({ bytes }: KeyCredential): string => digest('sha1', bytes).toString('hex').toUpperCase()

/** SHA-256 of the certificate, in hexadecimal. */
export const fingerprintOf = ({ bytes }: KeyCredential): string => digest('sha256', bytes).toString('hex')

/** Whether the header's `x5t#S256` or `x5t` names this certificate. */
export const isNamedBy = (header: Record<string, unknown>, { bytes }: KeyCredential): boolean =>
  typeof header['x5t#S256'] === 'string'
    ? header['x5t#S256'] === digest('sha256', bytes).toString('base64url')
    : header.x5t === digest('sha1', bytes).toString('base64url')

const digest = (name: string, bytes: Buffer) => createHash(name).update(bytes).digest()

/** A certificate in a read, without its bytes. */
export const showKey = (key: KeyCredential) => ({
  customKeyIdentifier: thumbprintOf(key),
  displayName: key.displayName,
  endDateTime: new Date(key.endsAt).toISOString(),
  key: null,
  keyId: key.keyId,
  startDateTime: new Date(key.startsAt).toISOString(),
  type: key.type,
  usage: key.usage,
})
