import { randomBytes, randomFillSync, randomUUID } from 'node:crypto'

/** Randomness as it is handed in. */
export type Random = {
  bytes(count: number): Uint8Array
  uuid(): string
}

export const systemRandom: Random = { bytes: pooled, uuid: () => randomUUID() }

/** Asking the system costs much the same for a few bytes as for thousands: small amounts come from a pool and are wiped from it as they go. */
const pool = Buffer.allocUnsafeSlow(8192)
const largestFromPool = 256
let used = pool.length

function pooled(count: number): Uint8Array {
  if (count > largestFromPool) return randomBytes(count)
  if (used + count > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const bytes = Uint8Array.prototype.slice.call(pool, used, used + count)
  pool.fill(0, used, used + count)
  used += count
  return bytes
}

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** `length` base62 characters without bias. */
export function base62(random: Random, length: number): string {
  let text = ''
  while (text.length < length) {
    for (const byte of random.bytes(length + 8)) {
      // 248 = 4 × 62: bytes above would favour the first letters
      if (byte < 248 && text.length < length) text += alphabet[byte % 62]
    }
  }
  return text
}

/** `length` lower-case hexadecimal digits. */
export const hex = (random: Random, length: number): string =>
  Buffer.from(random.bytes(Math.ceil(length / 2)))
    .toString('hex')
    .slice(0, length)
