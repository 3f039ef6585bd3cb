import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
} from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export type KeyPair = { readonly publicKey: KeyObject; readonly privateKey: KeyObject }

const kept = fileURLToPath(new URL('../../node_modules/.cache/gatehouse-test-keys', import.meta.url))

/** A pair of this name, for those who keep it. It takes 50 ms to make one, so later runs use it again. */
export function rsaKeysNamed(name: string, bits: number): KeyPair {
  const file = `${kept}/${bits}-${name}.pem`
  if (!existsSync(file)) writeWhole(file, generateKeyPairSync('rsa', { modulusLength: bits }).privateKey)
  const privateKey = createPrivateKey(readFileSync(file))
  return { privateKey, publicKey: createPublicKey(privateKey) }
}

/** No other worker reads a part of it. */
function writeWhole(file: string, key: KeyObject): void {
  mkdirSync(kept, { recursive: true })
  const part = `${file}-${randomUUID()}`
  writeFileSync(part, key.export({ format: 'pem', type: 'pkcs8' }), { mode: 0o600 })
  renameSync(part, file)
}

const known = new Map<string, KeyPair>()
const taken = new Map<number, number>()

/** An RSA key pair that this test file has not used before. A file uses those of the files before it again. */
export function rsaKeys(bits: number): KeyPair {
  const number = taken.get(bits) ?? 0
  taken.set(bits, number + 1)
  const pair = known.get(`${bits}-${number}`) ?? rsaKeysNamed(String(number), bits)
  known.set(`${bits}-${number}`, pair)
  return pair
}

/** Called before each test file. */
export const keysForNextFile = (): void => void taken.clear()
