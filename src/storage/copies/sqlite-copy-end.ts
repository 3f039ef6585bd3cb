import type { Buffer } from 'node:buffer'
import Database from 'better-sqlite3'
import { marksOf } from '../copy-marks.ts'
import { migrate } from '../migrate.ts'
import { type ReadRow, readPages, sumOf } from '../record-digest.ts'
import { prepareFile } from '../sqlite/database-file.ts'
import { holdLock } from '../sqlite/lock-file.ts'
import type { CopyEnd } from '../store-copy.ts'
import { giveToOwner } from './restore.ts'

/** A SQLite database, created if it is missing. Throws a StartError 3 while a server uses it. */
export async function openSqliteEnd(path: string): Promise<CopyEnd> {
  const realPath = prepareFile(path)
  const lock = holdLock(realPath, path)
  for (const file of [realPath, `${realPath}.lock`]) await giveToOwner(file)
  const connection = new Database(realPath)
  connection.pragma('synchronous = FULL')
  migrate(connection)
  const value = connection.prepare<[string], Buffer>('SELECT value FROM records WHERE key = ?').pluck()
  const last = connection.prepare<[], string | null>('SELECT max(key) FROM records').pluck()
  const insert = connection.prepare<[string, Uint8Array]>('INSERT INTO records (key, value) VALUES (?, ?)')
  return {
    name: path,
    // the lock keeps them out
    refuseServers: async () => {},
    value: async (key) => value.get(key),
    marks: async () => marksOf(connection),
    mark: async (mark, number) => {
      if (number === undefined) connection.prepare('DELETE FROM meta WHERE name = ?').run(mark)
      else connection.prepare('INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)').run(mark, number)
    },
    lastKey: async () => last.get() ?? undefined,
    pages: async function* (after) {
      yield* readPages(connection, after)
    },
    append: async (page: readonly ReadRow[]) => {
      connection.transaction(() => {
        for (const row of page) insert.run(...row)
      })()
    },
    sum: async () => sumOf(connection),
    [Symbol.asyncDispose]: async () => {
      connection.close()
      lock[Symbol.dispose]()
    },
  }
}
