import { Buffer } from 'node:buffer'

const types = { text: 25, bytea: 17 } as const

/** An array in PostgreSQL's binary format, which needs no quoting and no hexadecimal digits. */
export function arrayParameter(type: keyof typeof types, items: readonly (string | Uint8Array)[]): Buffer {
  let size = 20
  for (const item of items) size += 4 + lengthOf(item)
  const packed = Buffer.allocUnsafe(size)
  packed.writeInt32BE(1, 0)
  packed.writeInt32BE(0, 4)
  packed.writeInt32BE(types[type], 8)
  packed.writeInt32BE(items.length, 12)
  packed.writeInt32BE(1, 16)
  let at = 20
  for (const item of items) {
    const length = typeof item === 'string' ? packed.write(item, at + 4) : item.length
    packed.writeInt32BE(length, at)
    if (typeof item !== 'string') packed.set(item, at + 4)
    at += 4 + length
  }
  return packed
}

const lengthOf = (item: string | Uint8Array): number =>
  typeof item === 'string' ? Buffer.byteLength(item) : item.length

export const textArray = (items: readonly string[]): Buffer => arrayParameter('text', items)
