import { Buffer } from 'node:buffer'
import { createCipheriv, createDecipheriv } from 'node:crypto'
import type { Random } from '../../lib/system/random.ts'

const algorithm = 'aes-256-gcm'
const version = 2
const termBytes = 4
const nonceAt = termBytes + 1
const nonceBytes = 12
const textAt = nonceAt + nonceBytes
const tagBytes = 16
/** More than one, because other code may have freed memory of this length since. */
const freedCopies = 4
const noSecret = Buffer.alloc(16)

/** Key and term for encryption (term 0: a key without terms), and the source of nonces. */
export type SealingKey = { term: number; key: Uint8Array; random: Random }

/**
 * Encrypts a value. Format: term (4 bytes, big-endian), version 2, nonce, ciphertext, tag. The associated
 * data binds the value to its storage key or purpose. docs/storage.md#the-barrier
 */
export function sealValue(
  { term, key, random }: SealingKey,
  associatedData: string,
  plain: Uint8Array,
): Buffer {
  const nonce = random.bytes(nonceBytes)
  const cipher = createCipheriv(algorithm, key, nonce)
  cipher.setAAD(Buffer.from(associatedData))
  const text = cipher.update(plain)
  cipher.final()
  const sealed = Buffer.allocUnsafeSlow(textAt + text.length + tagBytes)
  sealed.writeUInt32BE(term, 0)
  sealed.writeUInt8(version, termBytes)
  sealed.set(nonce, nonceAt)
  sealed.set(text, textAt)
  sealed.set(cipher.getAuthTag(), textAt + text.length)
  return sealed
}

/** The term of an encrypted value; undefined if the format is unknown. */
export function termOf(sealed: Uint8Array): number | undefined {
  if (sealed.length < textAt + tagBytes || sealed[termBytes] !== version) return undefined
  return view(sealed).readUInt32BE(0)
}

/** Decrypts a value. Throws if it was changed or truncated, or if the associated data or the key differ. */
export function openValue(key: Uint8Array, associatedData: string, sealed: Uint8Array): Buffer {
  const bytes = view(sealed)
  const tagAt = bytes.length - tagBytes
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(nonceAt, textAt), {
    authTagLength: tagBytes,
  })
  decipher.setAAD(Buffer.from(associatedData))
  decipher.setAuthTag(bytes.subarray(tagAt))
  const plain = decipher.update(bytes.subarray(textAt, tagAt))
  decipher.final()
  return plain
}

/**
 * Decrypts keys like `openValue`. Node.js shortens what a cipher returns, and frees the longer copy as it is;
 * results of the same length that hold no key take its place. docs/storage.md#keys-in-memory
 */
export function openKeys(key: Uint8Array, associatedData: string, sealed: Uint8Array): Buffer {
  const plain = openValue(key, associatedData, sealed)
  const zeros = Buffer.alloc(plain.length)
  for (let copy = 0; copy < freedCopies; copy++)
    createCipheriv('aes-128-ctr', noSecret, noSecret).update(zeros)
  return plain
}

const view = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
