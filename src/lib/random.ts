import { randomBytes, randomUUID } from 'node:crypto'

/** Randomness as it is handed in. */
export type Random = {
  bytes(count: number): Uint8Array
  uuid(): string
}

export const systemRandom: Random = { bytes: (count) => randomBytes(count), uuid: () => randomUUID() }

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
