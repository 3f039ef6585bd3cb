import { Buffer } from 'node:buffer'
import type Database from 'better-sqlite3'
import type { StorageFaults } from '../faults.ts'
import type { RowWrite } from '../group.ts'
import type { Range, StoredRecord } from '../storage.ts'

/**
 * The exclusive upper bound of the keys that start with `prefix`, in bytes. UTF-8 contains no 0xff, so the
 * last byte can always be incremented.
 */
function upperBound(prefix: string): Buffer {
  if (prefix === '') return Buffer.from([0xff])
  const bytes = Buffer.from(prefix)
  const last = bytes.length - 1
  bytes.writeUInt8(bytes.readUInt8(last) + 1, last)
  return bytes
}

type RangeStatement<Row> = Database.Statement<[string, Buffer, number], Row>
type RangeStatements<Row> = readonly [from: RangeStatement<Row>, beyond: RangeStatement<Row>]

/** The read statements of a connection; each call is one short read transaction. */
export class RowReader {
  readonly #faults: StorageFaults | undefined
  readonly #get: Database.Statement<[string], StoredRecord>
  readonly #records: RangeStatements<StoredRecord>
  readonly #keys: RangeStatements<string>
  readonly #lastRevision: Database.Statement<[], number | null>
  readonly #size: Database.Statement<[], { databaseBytes: number; freeBytes: number }>

  constructor(connection: Database.Database, faults?: StorageFaults) {
    this.#faults = faults
    // bounds are bytes, because they need not be well-formed text; a bare LIMIT ? is planned again for each value
    const range = <Row>(columns: string, start: string) =>
      connection.prepare<[string, Buffer, number], Row>(
        `SELECT ${columns} FROM records WHERE key ${start} ? AND key < CAST(? AS TEXT) ORDER BY key LIMIT CAST(? AS INTEGER)`,
      )
    this.#get = connection.prepare('SELECT key, value, revision FROM records WHERE key = ?')
    this.#records = [range('key, value, revision', '>='), range('key, value, revision', '>')]
    this.#keys = [range<string>('key', '>=').pluck(), range<string>('key', '>').pluck()]
    this.#lastRevision = connection
      .prepare<[], number | null>("SELECT seq FROM sqlite_sequence WHERE name = 'records'")
      .pluck()
    this.#size = connection.prepare(
      'SELECT page_count * page_size AS databaseBytes, freelist_count * page_size AS freeBytes ' +
        'FROM pragma_page_count(), pragma_page_size(), pragma_freelist_count()',
    )
  }

  get(key: string): StoredRecord | undefined {
    this.#faults?.pass('storage.read')
    return this.#get.get(key)
  }

  list(prefix: string, range: Range): StoredRecord[] {
    return this.#range(this.#records, prefix, range)
  }

  keys(prefix: string, range: Range): string[] {
    return this.#range(this.#keys, prefix, range)
  }

  #range<Row>([from, beyond]: RangeStatements<Row>, prefix: string, { after, limit = -1 }: Range): Row[] {
    this.#faults?.pass('storage.read')
    const isAfter = after !== undefined && startsInside(prefix, after)
    return (isAfter ? beyond : from).all(isAfter ? after : prefix, upperBound(prefix), limit)
  }

  size(): { databaseBytes: number; freeBytes: number } {
    return this.#size.get() ?? { databaseBytes: 0, freeBytes: 0 }
  }

  /** The greatest revision ever written, including deleted rows. */
  lastRevision(): number {
    return this.#lastRevision.get() ?? 0
  }
}

/** False if every key under `prefix` comes after `after`. */
const startsInside = (prefix: string, after: string) =>
  after.startsWith(prefix) || Buffer.compare(Buffer.from(after), Buffer.from(prefix)) > 0

export class RowWriter {
  readonly #connection: Database.Database
  readonly #faults: StorageFaults | undefined
  readonly #put: Database.Statement<[number, string, Uint8Array]>
  readonly #rewrite: Database.Statement<[Uint8Array, number]>
  readonly #delete: Database.Statement<[string]>
  readonly #begin: Database.Statement<[]>
  readonly #commit: Database.Statement<[]>

  constructor(connection: Database.Database, faults: StorageFaults | undefined) {
    this.#connection = connection
    this.#faults = faults
    this.#put = connection.prepare('INSERT OR REPLACE INTO records (revision, key, value) VALUES (?, ?, ?)')
    // leaves the index of keys alone
    this.#rewrite = connection.prepare('UPDATE records SET value = ? WHERE revision = ?')
    this.#delete = connection.prepare('DELETE FROM records WHERE key = ?')
    this.#begin = connection.prepare('BEGIN IMMEDIATE')
    this.#commit = connection.prepare('COMMIT')
  }

  /** Writes all rows in one transaction, or throws the engine's error and writes nothing. */
  apply(rows: Iterable<RowWrite>): void {
    try {
      this.#faults?.pass('storage.statement')
      this.#begin.run()
      for (const { key, value, revision, keepsRevision } of rows) {
        this.#faults?.pass('storage.statement')
        if (value === undefined) this.#delete.run(key)
        else if (keepsRevision) this.#rewrite.run(value, revision)
        else this.#put.run(revision, key, value)
      }
      this.#faults?.pass('storage.before-commit')
      this.#commit.run()
    } catch (cause) {
      if (this.#connection.inTransaction) this.#connection.exec('ROLLBACK')
      throw cause
    }
    this.#faults?.pass('storage.after-commit')
  }
}
