import { Buffer } from 'node:buffer'
import { combine, split } from 'shamir-secret-sharing'
import { refuse } from '../../errors.ts'
import { isBase64 } from '../../lib/text/base64.ts'
import { keyBytes } from '../barrier/root-key.ts'
import type { ShareCounts } from '../barrier/seal-config.ts'

/** A share of several: 32 bytes of the polynomials' values, then the byte at which they were taken. */
const shareBytes = keyBytes + 1
const leastBytes = 16

/** A zero-filled buffer that neither Node's pool nor the garbage collector copies. Fill it with zeros after use. */
const ownBuffer = (length: number): Buffer => Buffer.from(new ArrayBuffer(length))

/** Moves bytes into a buffer of their own and wipes the source. */
function moved(bytes: Uint8Array): Buffer {
  const own = ownBuffer(bytes.length)
  own.set(bytes)
  bytes.fill(0)
  return own
}

function copyOf(key: Uint8Array): Buffer {
  const own = ownBuffer(key.length)
  own.set(key)
  return own
}

/** Splits a key. The only share of one is the key itself. docs/contract/seal.md#shares */
export async function splitKey(key: Buffer, { shares, threshold }: ShareCounts): Promise<Buffer[]> {
  if (shares === 1) return [copyOf(key)]
  // the library wants exactly a Uint8Array
  const plain = new Uint8Array(key.buffer, key.byteOffset, key.length)
  return (await split(plain, shares, threshold)).map(moved)
}

/**
 * Rebuilds a key from its threshold of shares. Other shares yield another key; undefined if they cannot
 * belong together.
 */
export async function combineShares(shares: readonly Buffer[]): Promise<Buffer | undefined> {
  const [first] = shares
  if (first === undefined) return undefined
  if (shares.length === 1) return first.length === keyBytes ? copyOf(first) : undefined
  const places = new Set(shares.map((share) => share.at(-1)))
  const areOfOneKey = places.size === shares.length && !places.has(0)
  if (!areOfOneKey || shares.some(({ length }) => length !== shareBytes)) return undefined
  return moved(
    await combine(shares.map((share) => new Uint8Array(share.buffer, share.byteOffset, share.length))),
  )
}

/** Reads a share as clients send it, and checks its length; see `decodeShare` and `checkLength`. */
export function readShare(text: string, prefix = ''): Buffer {
  const share = decodeShare(text)
  checkLength(share, prefix)
  return share
}

/**
 * Decodes hexadecimal, or base64 if that does not give a share's length. Throws a refusal.
 * docs/contract/seal.md#shares
 */
export function decodeShare(text: string): Buffer {
  const share = ofHex(text) ?? ofBase64(text)
  if (share === undefined) throw refuse('invalid', "'key' must be a valid hex or base64 string")
  return share
}

/** Throws a refusal, whose text begins with `prefix`, if it cannot be a share; it is wiped then. */
export function checkLength(share: Buffer, prefix: string): void {
  const isShort = share.length < leastBytes
  if (!isShort && share.length <= shareBytes) return
  share.fill(0)
  throw refuse(
    'invalid',
    isShort
      ? `${prefix}key is shorter than minimum ${leastBytes} bytes`
      : `${prefix}key is longer than maximum ${shareBytes} bytes`,
  )
}

function ofHex(text: string): Buffer | undefined {
  const length = text.length / 2
  if (length < leastBytes || length > shareBytes || !/^(?:[0-9a-fA-F]{2})+$/.test(text)) return undefined
  const share = ownBuffer(length)
  share.write(text, 'hex')
  return share
}

function ofBase64(text: string): Buffer | undefined {
  if (!isBase64(text)) return undefined
  const code = text.replace(/[\r\n]/g, '')
  const share = ownBuffer(Buffer.byteLength(code, 'base64'))
  share.write(code, 'base64')
  return share
}
