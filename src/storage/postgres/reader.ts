import { Buffer } from 'node:buffer'
import type { StoredRecord } from '../storage.ts'
import { textArray } from './array-parameter.ts'
import type { Pool } from './pool.ts'
import type { Row } from './session.ts'
import { readMany, readOne } from './statements.ts'

/** A row of `key`, `value`, `revision`. */
export function recordOf([key, value, revision]: Row): StoredRecord {
  if (typeof key !== 'string' || !Buffer.isBuffer(value)) throw new Error('not a row of records')
  return { key, value, revision: Number(revision) }
}

type Caller = { resolve(record: StoredRecord | undefined): void; reject(cause: unknown): void }

const maxReads = 3
const maxKeys = 256

/** Reads single records: the reads of one turn of the event loop, or of the time that others take, share a query. */
export class RecordReader {
  readonly #pool: Pool
  #waiting = new Map<string, Caller[]>()
  #reads = 0
  #isWaking = false

  constructor(pool: Pool) {
    this.#pool = pool
  }

  get(key: string): Promise<StoredRecord | undefined> {
    return new Promise((resolve, reject) => {
      const callers = this.#waiting.get(key)
      if (callers === undefined) this.#waiting.set(key, [{ resolve, reject }])
      else callers.push({ resolve, reject })
      this.#wake()
    })
  }

  #wake(): void {
    if (this.#isWaking || this.#reads === maxReads) return
    this.#isWaking = true
    setImmediate(() => {
      this.#isWaking = false
      while (this.#waiting.size > 0 && this.#reads < maxReads) void this.#read()
    })
  }

  async #read(): Promise<void> {
    this.#reads += 1
    const batch = this.#nextBatch()
    try {
      const [first = '', ...more] = batch.keys()
      const rows = await this.#pool.use((session) =>
        more.length === 0
          ? session.query(readOne, [first])
          : session.query(readMany, [textArray([first, ...more])]),
      )
      for (const row of rows) {
        const record = recordOf(row)
        for (const { resolve } of batch.get(record.key) ?? []) resolve(record)
        batch.delete(record.key)
      }
      for (const callers of batch.values()) for (const { resolve } of callers) resolve(undefined)
    } catch (cause) {
      for (const callers of batch.values()) for (const { reject } of callers) reject(cause)
    }
    this.#reads -= 1
    if (this.#waiting.size > 0) this.#wake()
  }

  #nextBatch(): Map<string, Caller[]> {
    if (this.#waiting.size <= maxKeys) {
      const all = this.#waiting
      this.#waiting = new Map()
      return all
    }
    const batch = new Map([...this.#waiting].slice(0, maxKeys))
    for (const key of batch.keys()) this.#waiting.delete(key)
    return batch
  }
}
