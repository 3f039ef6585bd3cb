import { Buffer } from 'node:buffer'
import type { Random } from '../../lib/system/random.ts'
import type { StoredRecord } from '../../storage/storage.ts'
import { openKeys, sealValue } from './sealed-value.ts'

/** Key of the root key, encrypted with the seal key. A store that has it is initialized. */
export const rootKeyKey = 'barrier/root-key'

/** Length in bytes of seal key, root key and data keys. */
export const keyBytes = 32

/**
 * A zero-filled buffer for a key. Its memory is its own and outside the JavaScript heap: neither Node's pool
 * nor the garbage collector copies it. Whoever holds one must fill it with zeros in the end.
 */
export const keyBuffer = (): Buffer => Buffer.from(new ArrayBuffer(keyBytes))

export function newKey(random: Random): Buffer {
  const key = keyBuffer()
  const bytes = random.bytes(keyBytes)
  key.set(bytes)
  bytes.fill(0)
  return key
}

export const sealRootKey = (rootKey: Uint8Array, sealKey: Uint8Array, random: Random): Buffer =>
  sealValue({ term: 0, key: sealKey, random }, rootKeyKey, rootKey)

/** Decrypts the root key; undefined if the seal key is another one. */
export function openRootKey(sealKey: Uint8Array, { value }: Pick<StoredRecord, 'value'>): Buffer | undefined {
  try {
    return openKeys(sealKey, rootKeyKey, value)
  } catch {
    return undefined
  }
}
