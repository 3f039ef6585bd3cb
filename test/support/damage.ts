import Database from 'better-sqlite3'

/**
 * Flips one bit in the value of the first record whose key matches, in the file of a stopped server; returns
 * its key.
 */
export function damage(file: string, like: string): string {
  const database = new Database(file)
  try {
    const row = database
      .prepare<[string], { key: string; value: Buffer }>(
        'SELECT key, value FROM records WHERE key LIKE ? ORDER BY key LIMIT 1',
      )
      .get(like)
    if (row === undefined) throw new Error(`no record is like ${like}`)
    const value = Buffer.from(row.value)
    const at = value.length - 1
    value.writeUInt8(value.readUInt8(at) ^ 1, at)
    database.prepare('UPDATE records SET value = ? WHERE key = ?').run(value, row.key)
    return row.key
  } finally {
    database.close()
  }
}
