import { Buffer } from 'node:buffer'
import type { Random } from '../../lib/system/random.ts'
import { base64Bytes, readKey, writeBase64 } from './key-text.ts'
import { openKeys, sealValue } from './sealed-value.ts'

/** Key of the keyring, encrypted with the root key. */
export const keyringKey = 'barrier/keyring'

/** One data key. `reserved`: number of encryptions that servers have reserved; unused ones are lost. */
export type Term = {
  term: number
  key: Buffer
  install_time: string
  reserved: number
  /**
   * Time in milliseconds until which texts held by clients need this term. Absent in keyrings of older
   * versions.
   */
  out_until?: number
}

export type Ring = { terms: Term[]; rotation?: RotationRules }

/**
 * When a new term starts automatically. `interval`: seconds after the previous one, 0 for never;
 * `max_operations`: encryptions per term.
 */
export type RotationRules = {
  readonly enabled: boolean
  readonly interval: number
  readonly max_operations: number
}

export function wipe(terms: readonly Term[]): void {
  for (const { key } of terms) key.fill(0)
}

type RingText = Omit<Ring, 'terms'> & { terms: (Omit<Term, 'key'> & { key: string })[] }

/**
 * Encrypts the keyring: JSON in which keys are base64. The JSON is made and parsed with numbers in place of
 * the keys, because nothing can overwrite a string. docs/storage.md#the-barrier
 */
export function sealRing({ terms, ...ring }: Ring, rootKey: Uint8Array, random: Random): Buffer {
  const numbered: RingText = {
    ...ring,
    terms: terms.map((term, index) => ({ ...term, key: String(index).padEnd(base64Bytes) })),
  }
  const text = JSON.stringify(numbered)
  const plain = Buffer.alloc(Buffer.byteLength(text))
  plain.write(text)
  const spans = keySpans(plain)
  for (const { key } of terms) writeBase64(key, spans.next().value ?? missing())
  const sealed = sealValue({ term: 0, key: rootKey, random }, keyringKey, plain)
  plain.fill(0)
  return sealed
}

/** Decrypts the keyring. Throws if the root key is another one. The caller must wipe the terms. */
export function openRing(sealed: Uint8Array, rootKey: Uint8Array): Ring {
  const plain = openKeys(rootKey, keyringKey, sealed)
  const keys: Buffer[] = []
  for (const span of keySpans(plain)) {
    keys.push(readKey(span) ?? missing())
    span.write(String(keys.length - 1).padEnd(base64Bytes))
  }
  // the ciphertext is authenticated, so sealRing wrote this JSON
  const { terms, ...ring } = JSON.parse(plain.toString('utf8')) as RingText
  return { ...ring, terms: terms.map((term) => ({ ...term, key: keys[Number(term.key)] ?? missing() })) }
}

const member = Buffer.from('"key":"')

/** The parts of the JSON that hold keys, in order. In a string of JSON every quote has a backslash before it. */
function* keySpans(text: Buffer): Generator<Buffer, undefined> {
  for (let at = text.indexOf(member); at !== -1; at = text.indexOf(member, at + member.length + base64Bytes))
    yield text.subarray(at + member.length, at + member.length + base64Bytes)
  return undefined
}

function missing(): never {
  throw new Error(`${keyringKey} lacks a key`)
}
