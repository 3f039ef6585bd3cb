import Database from 'better-sqlite3'

/** Opens a database file that exists; `using` closes it. Throws the engine's error. */
export function openExisting(path: string, { readonly = false } = {}): Database.Database & Disposable {
  const connection = new Database(path, { readonly, fileMustExist: true })
  return Object.assign(connection, { [Symbol.dispose]: () => void connection.close() })
}
