import { Buffer } from 'node:buffer'
import { keyBuffer, keyBytes } from './root-key.ts'

/** The digits of a text form of keys. Bytes in, bytes out: a string could not be overwritten. */
type Digits = { readonly bits: number; readonly alphabet: Buffer; readonly values: Uint8Array }

const noDigit = 0xff

function digits(alphabet: string, bits: number): Digits {
  const values = new Uint8Array(256).fill(noDigit)
  for (const [value, digit] of Buffer.from(alphabet).entries()) values[digit] = value
  return { bits, alphabet: Buffer.from(alphabet), values }
}

const base64 = digits('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/', 6)
const hex = digits('0123456789abcdef', 4)
for (const digit of Buffer.from('ABCDEF')) hex.values[digit] = hex.values[digit + 32] ?? noDigit

const base64Digits = 43
const hexDigits = 64
const padding = 0x3d

/** Length of a key in padded base64, and in hexadecimal. */
export const base64Bytes = base64Digits + 1
export const hexBytes = hexDigits

export function writeBase64(key: Uint8Array, text: Uint8Array): void {
  text[write(key, text, base64)] = padding
}

export const writeHex = (key: Uint8Array, text: Uint8Array): void => void write(key, text, hex)

/** Reads a key from hexadecimal or base64, with optional padding; undefined for any other text. */
export function readKey(text: Uint8Array): Buffer | undefined {
  if (text.length === hexDigits) return read(text, hex)
  const isPadded = text.length === base64Bytes && text[base64Digits] === padding
  return isPadded || text.length === base64Digits ? read(text.subarray(0, base64Digits), base64) : undefined
}

function write(key: Uint8Array, text: Uint8Array, { bits, alphabet }: Digits): number {
  let [count, held, heldBits] = [0, 0, 0]
  const put = (digit: number) => {
    text[count] = alphabet[digit] ?? 0
    count += 1
  }
  for (const byte of key) {
    held = (held << 8) | byte
    for (heldBits += 8; heldBits >= bits; heldBits -= bits) {
      put(held >> (heldBits - bits))
      held &= (1 << (heldBits - bits)) - 1
    }
  }
  if (heldBits > 0) put(held << (bits - heldBits))
  return count
}

function read(text: Uint8Array, { bits, values }: Digits): Buffer | undefined {
  const key = keyBuffer()
  let [count, held, heldBits] = [0, 0, 0]
  for (const digit of text) {
    const value = values[digit] ?? noDigit
    if (value === noDigit) {
      key.fill(0)
      return undefined
    }
    held = (held << bits) | value
    heldBits += bits
    if (heldBits < 8 || count === keyBytes) continue
    heldBits -= 8
    key[count] = held >> heldBits
    count += 1
    held &= (1 << heldBits) - 1
  }
  return key
}
