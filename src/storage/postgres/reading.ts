import { Buffer } from 'node:buffer'
import { StartError } from '../../errors.ts'
import { type ReadRecord, type ReadRow, RecordHash, type RecordSum } from '../record-digest.ts'
import type { StoredRecord } from '../storage.ts'
import { engineCode } from '../storage-error.ts'
import { checkPostgresSchema } from './migrations.ts'
import { type ConnectionSettings, openSession, type Session } from './session.ts'
import { statements } from './statements.ts'

const rowsPerPage = 200
const nextPage = {
  name: 'next_page',
  text: `SELECT key, value FROM records WHERE key > $1 ORDER BY key LIMIT ${rowsPerPage}`,
}

/**
 * All records at one moment, for a program that only reads them, while servers write. A transaction holds
 * that moment: until it is disposed of, the database keeps what was deleted since.
 */
export class PostgresReading implements AsyncDisposable {
  readonly #session: Session

  private constructor(session: Session) {
    this.#session = session
  }

  /** Rejects with the database's error, or a StartError if it has no records that this program can read. */
  static async open(settings: Omit<ConnectionSettings, 'applicationName'>): Promise<PostgresReading> {
    const session = await openSession({ ...settings, applicationName: 'gatehouse command' })
    try {
      await session.text('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      // the rows of a page may be written to a slow disk
      await session.text("SET LOCAL idle_in_transaction_session_timeout = '10min'")
      await checkPostgresSchema(session)
      return new PostgresReading(session)
    } catch (cause) {
      session.destroy()
      if (engineCode(cause) === '42P01') throw new StartError(1, 'not a Gatehouse database', { cause })
      throw cause
    }
  }

  readonly get = async (key: string): Promise<StoredRecord | undefined> => {
    const [row] = await this.#session.query(statements.readOne, [key])
    return row && { key, value: bytesOf(row[1]), revision: Number(row[2]) }
  }

  /** In key order, from the key after `after`. */
  async *pages(after = ''): AsyncGenerator<readonly ReadRow[]> {
    for (let last: string | undefined = after; last !== undefined; ) {
      const rows = await this.#session.query(nextPage, [last])
      const page = rows.map(([key, value]): ReadRow => [String(key), bytesOf(value)])
      if (page.length > 0) yield page
      last = page.at(-1)?.[0]
    }
  }

  async sum(onRecord?: ReadRecord): Promise<RecordSum> {
    const hash = new RecordHash()
    for await (const page of this.pages())
      for (const [key, value] of page) {
        hash.add(key, value)
        onRecord?.(key, value)
      }
    return hash.sum()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.end()
  }
}

const bytesOf = (value: unknown): Buffer => {
  if (Buffer.isBuffer(value)) return value
  throw new Error('a value is not bytea')
}
