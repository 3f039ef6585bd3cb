import { createPrivateKey, type KeyObject, type X509Certificate } from 'node:crypto'
import type { AuthenticatedSafe, SafeBag } from 'pkijs'
import { certificateIn, UnusableCertificate } from './client-certificate.ts'

type Pki = typeof import('pkijs')
type Encodable = { toBER(): ArrayBuffer }
type Encryption = { readonly algorithmId: string; readonly algorithmParams?: Encodable }

export type CertificateParts = {
  readonly keys: readonly KeyObject[]
  readonly certificates: readonly X509Certificate[]
}

const base64 = /^[A-Za-z0-9+/]+={0,2}$/
const pbes2 = '1.2.840.113549.1.5.13'
/** Each iteration costs processor time, and the sender chooses how many there are. */
const mostIterations = 1_000_000

const olderPfx = () =>
  new UnusableCertificate(
    'it is encrypted by an older method than PBES2; convert a PFX file: openssl pkcs12 -legacy -in old.pfx -nodes -out client.pem',
  )
const bytesOf = (text: string): ArrayBuffer => Uint8Array.from(Buffer.from(text)).buffer
const unreadable = () => new UnusableCertificate('it is neither PEM nor a PFX file in base64')

/**
 * Reads a PFX file (RFC 7292), plain or encrypted by PBES2. Its integrity is not checked: a key that does not match
 * its certificate is refused anyway.
 */
export async function readPfx(text: string, password: string): Promise<CertificateParts> {
  const packed = text.replace(/\s+/g, '')
  if (!base64.test(packed)) throw unreadable()
  const pki = await import('pkijs')
  const safe = await openSafe(pki, Uint8Array.from(Buffer.from(packed, 'base64')))
  const secret = bytesOf(password)
  checkEncryption(pki, safe)
  await orWrongPassword(
    safe.parseInternalValues({ safeContents: safe.safeContents.map(() => ({ password: secret })) }),
  )
  // the library states no type for what it has parsed
  const contents: { value: { safeBags: SafeBag[] } }[] = safe.parsedValue.safeContents
  const keys: KeyObject[] = []
  const certificates: X509Certificate[] = []
  for (const bag of contents.flatMap(({ value }) => value.safeBags)) {
    const { bagValue } = bag
    // more keys are refused anyway, and each costs processor time
    if (keys.length > 1) break
    if (bagValue instanceof pki.PrivateKeyInfo) keys.push(keyOf(bagValue.toSchema().toBER()))
    else if (bagValue instanceof pki.PKCS8ShroudedKeyBag)
      keys.push(await decryptedKey(pki, bagValue, password))
    else if (bagValue instanceof pki.CertBag && bagValue.parsedValue instanceof pki.Certificate)
      certificates.push(certificateIn(Buffer.from(bagValue.parsedValue.toSchema().toBER())))
  }
  return { keys, certificates }
}

function iterationsOf({ PBES2Params, PBKDF2Params }: Pki, algorithmParams: Encodable | undefined): number {
  try {
    const { keyDerivationFunc } = PBES2Params.fromBER(algorithmParams?.toBER() ?? new ArrayBuffer())
    return new PBKDF2Params({ schema: keyDerivationFunc.algorithmParams }).iterationCount
  } catch {
    throw new UnusableCertificate('its password is not hardened by PBKDF2')
  }
}

async function openSafe({ PFX }: Pki, bytes: Uint8Array<ArrayBuffer>): Promise<AuthenticatedSafe> {
  try {
    const pfx = PFX.fromBER(bytes)
    await pfx.parseInternalValues({ checkIntegrity: false, password: new ArrayBuffer() })
    const safe = pfx.parsedValue?.authenticatedSafe
    if (safe !== undefined) return safe
  } catch {
    throw unreadable()
  }
  throw unreadable()
}

/** Encrypted contents, which usually hold the certificates. */
function checkEncryption(pki: Pki, safe: AuthenticatedSafe): void {
  const algorithms = safe.safeContents
    .filter(({ contentType }) => contentType === pki.ContentInfo.ENCRYPTED_DATA)
    .map(({ content }) => encryptionOf(pki, content))
  checkAlgorithms(pki, algorithms)
}

function encryptionOf({ EncryptedData }: Pki, content: Encodable): Encryption {
  try {
    // a copy, because reading it takes it apart
    return EncryptedData.fromBER(content.toBER()).encryptedContentInfo.contentEncryptionAlgorithm
  } catch {
    throw unreadable()
  }
}

function checkAlgorithms(pki: Pki, algorithms: readonly Encryption[]): void {
  if (algorithms.some(({ algorithmId }) => algorithmId !== pbes2)) throw olderPfx()
  const iterations = algorithms.map(({ algorithmParams }) => iterationsOf(pki, algorithmParams))
  if (iterations.reduce((sum, count) => sum + count, 0) > mostIterations)
    throw new UnusableCertificate(`its password needs more than ${mostIterations} iterations`)
}

/** Decrypts a key outside of the event loop. */
async function decryptedKey(
  pki: Pki,
  encrypted: InstanceType<Pki['PKCS8ShroudedKeyBag']>,
  password: string,
): Promise<KeyObject> {
  checkAlgorithms(pki, [encrypted.encryptionAlgorithm])
  const encryptedContentInfo = new pki.EncryptedContentInfo({
    contentEncryptionAlgorithm: encrypted.encryptionAlgorithm,
    encryptedContent: encrypted.encryptedData,
  })
  const content = new pki.EncryptedData({ encryptedContentInfo })
  const der = await orWrongPassword(content.decrypt({ password: bytesOf(password) }))
  // one wrong password in 256 decrypts to something, which is no sequence then
  if (new Uint8Array(der)[0] !== sequenceTag) throw new UnusableCertificate('wrong password')
  return keyOf(der)
}

/** Each key in DER begins with it (X.690 §8.9). */
const sequenceTag = 0x30

/** Reads an encrypted PKCS#8 key (RFC 5958). */
export async function readEncryptedKey(der: Buffer, password: string): Promise<KeyObject> {
  const pki = await import('pkijs')
  return decryptedKey(pki, encryptedKeyOf(pki, der), password)
}

function encryptedKeyOf({ PKCS8ShroudedKeyBag }: Pki, der: Buffer) {
  try {
    return PKCS8ShroudedKeyBag.fromBER(Uint8Array.from(der))
  } catch {
    throw new UnusableCertificate('the private key cannot be read')
  }
}

function keyOf(der: ArrayBuffer): KeyObject {
  try {
    return createPrivateKey({ key: Buffer.from(der), format: 'der', type: 'pkcs8' })
  } catch {
    throw new UnusableCertificate('the private key cannot be read')
  }
}

async function orWrongPassword<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch {
    throw new UnusableCertificate('wrong password')
  }
}
