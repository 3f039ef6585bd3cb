import { readFileSync, writeFileSync } from 'node:fs'
import Database from 'better-sqlite3'

/**
 * Overwrites the page of a stopped server's database that holds the value of the first record whose key
 * matches; returns that key.
 */
export function damagePageOf(file: string, like: string): string {
  const { key, page, pageBytes } = placeOf(file, like)
  const bytes = readFileSync(file)
  bytes.fill(0x5a, (page - 1) * pageBytes, page * pageBytes)
  writeFileSync(file, bytes)
  return key
}

type Row = { key: string; value: Buffer }

function placeOf(file: string, like: string): { key: string; page: number; pageBytes: number } {
  const database = new Database(file, { readonly: true })
  try {
    const row = database
      .prepare<[string], Row>('SELECT key, value FROM records WHERE key LIKE ? ORDER BY key LIMIT 1')
      .get(like)
    if (row === undefined) throw new Error(`no record is like ${like}`)
    const pageBytes = Number(database.pragma('page_size', { simple: true }))
    const leaves = database
      .prepare<[], number>("SELECT pageno FROM dbstat WHERE name = 'records' AND pagetype = 'leaf'")
      .pluck()
      .all()
    const bytes = readFileSync(file)
    const start = row.value.subarray(0, 32)
    const page = leaves.find((number) =>
      bytes.subarray((number - 1) * pageBytes, number * pageBytes).includes(start),
    )
    if (page === undefined) throw new Error(`no page has ${row.key}`)
    return { key: row.key, page, pageBytes }
  } finally {
    database.close()
  }
}
