import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import type Database from 'better-sqlite3'

export type RecordSum = {
  readonly records: number
  /** SHA-256 over all records in key order, hexadecimal. docs/storage.md#the-backup-file */
  readonly digest: string
}

export type ReadRecord = (key: string, value: Buffer) => void

const rowsPerPage = 500
const firstPage = 'SELECT key, value FROM records ORDER BY key LIMIT ?'
const nextPage = 'SELECT key, value FROM records WHERE key > ? ORDER BY key LIMIT ?'

/**
 * Reads all records in key order, one page per step of the generator, and returns their digest. The caller
 * holds a transaction if the database may change.
 */
export function* readRecords(
  connection: Database.Database,
  onRecord?: ReadRecord,
): Generator<void, RecordSum> {
  const first = connection.prepare<[number], [string, Buffer]>(firstPage).raw()
  const next = connection.prepare<[string, number], [string, Buffer]>(nextPage).raw()
  const hash = createHash('sha256')
  let records = 0
  for (let page = first.all(rowsPerPage); page.length > 0; ) {
    for (const [key, value] of page) {
      hash.update(withLength(Buffer.from(key))).update(withLength(value))
      onRecord?.(key, value)
    }
    records += page.length
    yield
    page = next.all(page.at(-1)?.[0] ?? '', rowsPerPage)
  }
  return { records, digest: hash.digest('hex') }
}

/** The bytes after their number (4 bytes, big-endian). */
function withLength(bytes: Buffer): Buffer {
  const prefixed = Buffer.allocUnsafe(4 + bytes.length)
  prefixed.writeUInt32BE(bytes.length)
  bytes.copy(prefixed, 4)
  return prefixed
}
