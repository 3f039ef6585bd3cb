import { generateKeyPairSync, type KeyObject } from 'node:crypto'

export type KeyPair = { readonly publicKey: KeyObject; readonly privateKey: KeyObject }

/** A new pair, for those who keep it for later files. */
export const makeRsaKeys = (bits: number): KeyPair => generateKeyPairSync('rsa', { modulusLength: bits })

const made = new Map<number, KeyPair[]>()
const taken = new Map<number, number>()

/**
 * An RSA key pair that this test file has not used before. It takes 50 ms to make one, so a file uses those of
 * the files before it again.
 */
export function rsaKeys(bits: number): KeyPair {
  const pairs = made.get(bits) ?? []
  made.set(bits, pairs)
  const number = taken.get(bits) ?? 0
  taken.set(bits, number + 1)
  pairs[number] ??= makeRsaKeys(bits)
  return pairs[number]
}

/** Called before each test file. */
export const keysForNextFile = (): void => void taken.clear()
