import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import type Database from 'better-sqlite3'

export type RecordSum = {
  readonly records: number
  /** SHA-256 over all records in key order, hexadecimal. docs/storage.md#the-backup-file */
  readonly digest: string
}

export type ReadRecord = (key: string, value: Buffer) => void

/** Computes the digest of records that are added in key order. */
export class RecordHash {
  readonly #hash = createHash('sha256')
  #records = 0

  add(key: string, value: Buffer): void {
    this.#hash.update(withLength(Buffer.from(key))).update(withLength(value))
    this.#records += 1
  }

  /** Must be called last. */
  sum(): RecordSum {
    return { records: this.#records, digest: this.#hash.digest('hex') }
  }
}

const rowsPerPage = 500
const firstPage = 'SELECT key, value FROM records ORDER BY key LIMIT ?'
const nextPage = 'SELECT key, value FROM records WHERE key > ? ORDER BY key LIMIT ?'

export type ReadRow = [key: string, value: Buffer]

/**
 * The records of a SQLite database in key order, from the key after `after`. The caller holds a transaction if
 * the database may change.
 */
export function* readPages(connection: Database.Database, after?: string): Generator<ReadRow[]> {
  const first = connection.prepare<[number], ReadRow>(firstPage).raw()
  const next = connection.prepare<[string, number], ReadRow>(nextPage).raw()
  for (
    let page = after === undefined ? first.all(rowsPerPage) : next.all(after, rowsPerPage);
    page.length > 0;
  ) {
    yield page
    page = next.all(page.at(-1)?.[0] ?? '', rowsPerPage)
  }
}

/** The digest of all records. `onRecord` sees each; after each page comes `onPage`. Both may throw. */
export function sumOf(
  connection: Database.Database,
  { onRecord, onPage }: { readonly onRecord?: ReadRecord | undefined; onPage?(): void } = {},
): RecordSum {
  const hash = new RecordHash()
  for (const page of readPages(connection)) {
    for (const [key, value] of page) {
      hash.add(key, value)
      onRecord?.(key, value)
    }
    onPage?.()
  }
  return hash.sum()
}

/** The bytes after their number (4 bytes, big-endian). */
function withLength(bytes: Buffer): Buffer {
  const prefixed = Buffer.allocUnsafe(4 + bytes.length)
  prefixed.writeUInt32BE(bytes.length)
  bytes.copy(prefixed, 4)
  return prefixed
}
