import { Buffer } from 'node:buffer'
import type { Range, StoredRecord } from '../storage.ts'
import { textArray } from './array-parameter.ts'
import { Batches } from './batches.ts'
import type { Pool } from './pool.ts'
import type { Row } from './session.ts'
import { type RangeStatements, statements } from './statements.ts'

/** A row of `key`, `value`, `revision`. */
export function recordOf([key, value, revision]: Row): StoredRecord {
  if (typeof key !== 'string' || !Buffer.isBuffer(value)) throw new Error('not a row of records')
  return { key, value, revision: Number(revision) }
}

/** Reads single records: several with one query. */
export const recordReader = (pool: Pool) =>
  new Batches<string, StoredRecord | undefined>(async (keys) => {
    const [first = '', ...more] = keys
    const rows = await pool.use((session) =>
      more.length === 0
        ? session.query(statements.readOne, [first])
        : session.query(statements.readMany, [textArray([...new Set(keys)])]),
    )
    const records = new Map(rows.map((row) => [String(row[0]), recordOf(row)]))
    return keys.map((key) => records.get(key))
  })

const rowsPerRead = 1_000
/** Longer parts are read by a query of their own. */
const shortRows = 100

/** The part of a range that one query reads. `after`: without the first key. */
type Part = {
  readonly first: string
  readonly after: boolean
  readonly bound: string
  readonly limit: number
}

type RangeParts<Item> = {
  readonly pool: Pool
  readonly statements: RangeStatements
  itemOf(row: Row): Item
  keyOf(item: Item): string
}

/** Reads ranges: several short ones with one query, and long ones in parts. */
export class RangeReader<Item> {
  readonly #parts: RangeParts<Item>
  readonly #short: Batches<Part, Item[]>

  constructor(parts: RangeParts<Item>) {
    this.#parts = parts
    this.#short = new Batches(async (parts) => {
      const [only, ...more] = parts
      if (only !== undefined && more.length === 0) return [await this.#readPart(only)]
      return await this.#readParts(parts)
    })
  }

  /** The result is not a snapshot. */
  async read(prefix: string, { after, limit: total = Number.POSITIVE_INFINITY }: Range): Promise<Item[]> {
    const isInside = after !== undefined && comesAfter(after, prefix)
    const bound = upperBound(prefix)
    let from = { first: isInside ? after : prefix, after: isInside }
    const items: Item[] = []
    while (items.length < total) {
      const limit = Math.min(rowsPerRead, total - items.length)
      const part = { ...from, bound, limit }
      const read = limit <= shortRows ? await this.#short.ask(part) : await this.#readPart(part)
      for (const item of read) items.push(item)
      const last = read.at(-1)
      if (read.length < limit || last === undefined) break
      from = { first: this.#parts.keyOf(last), after: true }
    }
    return items
  }

  async #readPart({ first, after, bound, limit }: Part): Promise<Item[]> {
    const { pool, statements, itemOf } = this.#parts
    const statement = after ? statements.after : statements.from
    const rows = await pool.use((session) => session.query(statement, [first, bound, String(limit)]))
    return rows.map(itemOf)
  }

  async #readParts(parts: readonly Part[]): Promise<Item[][]> {
    // the smallest key after another one ends with the smallest character
    const firsts = parts.map(({ first, after }) => (after ? `${first}\u0001` : first))
    const bounds = parts.map(({ bound }) => bound)
    const limits = `{${parts.map(({ limit }) => limit).join(',')}}`
    const { pool, statements, itemOf } = this.#parts
    const rows = await pool.use((session) =>
      session.query(statements.several, [textArray(firsts), textArray(bounds), limits]),
    )
    const items: Item[][] = parts.map(() => [])
    for (const [at, ...row] of rows) items[Number(at) - 1]?.push(itemOf(row))
    return items
  }
}

/** Whether keys up to `after` may start with `prefix`, in the order of the database. */
const comesAfter = (after: string, prefix: string) =>
  after.startsWith(prefix) || Buffer.compare(Buffer.from(after), Buffer.from(prefix)) > 0

/** Greater than every key: keys have at most 2,600 bytes. */
const beyondAll = '\u{10ffff}'.repeat(1_000)

/** The exclusive upper bound of the keys that start with `prefix`. Text is in the order of its code points. */
export function upperBound(prefix: string): string {
  const points = [...prefix]
  while (points.length > 0) {
    const last = points.pop()?.codePointAt(0) ?? 0
    // no text contains surrogates
    if (last < 0x10ffff) return points.join('') + String.fromCodePoint(last === 0xd7ff ? 0xe000 : last + 1)
  }
  return beyondAll
}
