import { Buffer } from 'node:buffer'
import { letOthersRun } from '../lib/data/pages.ts'
import type { RowWrite } from './group.ts'

const headBytes = 4
const rowHeadBytes = 16
const deleted = 0xffffffff
/** Bytes of a page of rows; each row counts for some more. */
const [packedAtOnce, leastPacked] = [512 * 1024, 2_048]

/**
 * Packs the rows of a group into one block that can be transferred to another thread without a copy. Format:
 * the number of rows; then for each row its revision (float64, negative if the row keeps it), the lengths of key and value (uint32 each;
 * value length 0xffffffff means a deletion), key and value.
 */
export async function packRows(rows: readonly RowWrite[]): Promise<ArrayBuffer> {
  let size = headBytes
  for (const { key, value } of rows) size += rowHeadBytes + Buffer.byteLength(key) + (value?.length ?? 0)
  const packed = Buffer.from(new ArrayBuffer(size))
  let at = packed.writeUInt32LE(rows.length, 0)
  let packedSince = 0
  for (const { key, value, revision, keepsRevision } of rows) {
    packed.writeDoubleLE(keepsRevision ? -revision : revision, at)
    const keyBytes = packed.write(key, at + rowHeadBytes)
    packed.writeUInt32LE(keyBytes, at + 8)
    packed.writeUInt32LE(value?.length ?? deleted, at + 12)
    if (value !== undefined) packed.set(value, at + rowHeadBytes + keyBytes)
    const rowBytes = rowHeadBytes + keyBytes + (value?.length ?? 0)
    at += rowBytes
    packedSince += leastPacked + rowBytes
    if (packedSince > packedAtOnce) {
      packedSince = 0
      await letOthersRun()
    }
  }
  // allocated as an ArrayBuffer above
  return packed.buffer as ArrayBuffer
}

/** Reads the rows of `packRows`. Values are views of `block`. */
export function* unpackRows(block: ArrayBuffer): Generator<RowWrite> {
  const packed = Buffer.from(block)
  const count = packed.readUInt32LE(0)
  let at = headBytes
  for (let row = 0; row < count; row += 1) {
    const signed = packed.readDoubleLE(at)
    const valueAt = at + rowHeadBytes + packed.readUInt32LE(at + 8)
    const valueBytes = packed.readUInt32LE(at + 12)
    const key = packed.toString('utf8', at + rowHeadBytes, valueAt)
    at = valueBytes === deleted ? valueAt : valueAt + valueBytes
    const value = valueBytes === deleted ? undefined : packed.subarray(valueAt, at)
    yield { key, value, revision: Math.abs(signed), keepsRevision: signed < 0 }
  }
}
