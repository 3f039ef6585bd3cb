import { Buffer } from 'node:buffer'
import type { PublicKey } from 'openpgp'
import { refuse } from '../../errors.ts'
import { isBase64 } from '../../lib/text/base64.ts'

/** A public key that can encrypt. */
export type PgpKey = {
  /** 40 or 64 lower-case hexadecimal digits. */
  readonly fingerprint: string
  /** A binary OpenPGP message that only the owner of the key can read. */
  encrypt(plain: Uint8Array): Promise<Buffer>
}

/** A key with some photos and signatures; every byte costs time before anybody is authenticated. */
const maxKeyBytes = 65_536
const maxSubkeys = 32

/** Loaded at the first use: most servers never need it, and it takes long. */
const library = () => import('openpgp')

/**
 * Reads public keys in base64 as clients send them, in binary form, and checks that each can encrypt at the
 * time `now` (milliseconds). Throws a refusal, whose text begins with `prefix`. docs/contract/seal.md#pgp
 */
export async function readPgpKeys(texts: readonly string[], now: number, prefix: string): Promise<PgpKey[]> {
  const keys: PgpKey[] = []
  // one by one, so that other requests are served in between
  for (const text of texts) keys.push(await readPgpKey(text, now, prefix))
  return keys
}

/** Reads one public key; see `readPgpKeys`. */
export async function readPgpKey(text: string, now: number, prefix: string): Promise<PgpKey> {
  const date = new Date(now)
  const read = await readable(text, date)
  if (typeof read === 'string') throw refuse('invalid', prefix + read)
  return { fingerprint: read.getFingerprint(), encrypt: (plain) => encrypted(plain, read, date) }
}

async function encrypted(plain: Uint8Array, key: PublicKey, date: Date): Promise<Buffer> {
  const { createMessage, encrypt } = await library()
  const message = await createMessage({ binary: plain, date })
  return Buffer.from(await encrypt({ message, encryptionKeys: key, format: 'binary', date }))
}

/** The key, or the reason why it cannot be used. */
async function readable(text: string, date: Date): Promise<PublicKey | string> {
  if (!isBase64(text)) return 'error decoding given PGP key: illegal base64 data'
  const unparsable = 'error parsing given PGP key:'
  if (Buffer.byteLength(text, 'base64') > maxKeyBytes)
    return `${unparsable} it is larger than ${maxKeyBytes} bytes`
  const { readKey } = await library()
  const key = await readKey({ binaryKey: Buffer.from(text, 'base64') }).catch(messageOf)
  if (typeof key === 'string') return `${unparsable} ${key}`
  if (key.isPrivate()) return `${unparsable} it is a private key`
  if (key.subkeys.length > maxSubkeys) return `${unparsable} it has more than ${maxSubkeys} subkeys`
  // only the attempt shows whether the numbers of a key make sense
  const unusable = await key
    .getEncryptionKey(undefined, date)
    .then(() => encrypted(new Uint8Array(1), key, date))
    .catch(messageOf)
  return typeof unusable === 'string' ? `error setting up encryption for PGP message: ${unusable}` : key
}

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
