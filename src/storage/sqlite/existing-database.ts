import Database from 'better-sqlite3'
import type { StoredRecord } from '../storage.ts'
import { RowReader } from './sqlite-rows.ts'

/** Opens a database file that exists; `using` closes it. Throws the engine's error. */
export function openExisting(path: string, { readonly = false } = {}): Database.Database & Disposable {
  const connection = new Database(path, { readonly, fileMustExist: true })
  return Object.assign(connection, { [Symbol.dispose]: () => void connection.close() })
}

/** Reads single records of a database, which a server may be using. Throws the engine's error. */
export function openReadOnly(path: string): Disposable & { get(key: string): StoredRecord | undefined } {
  const connection = openExisting(path, { readonly: true })
  try {
    const rows = new RowReader(connection)
    return { get: (key) => rows.get(key), [Symbol.dispose]: () => connection.close() }
  } catch (cause) {
    connection.close()
    throw cause
  }
}
