import Database from 'better-sqlite3'
import { identityOf, isSameFile } from './file-watch.ts'
import { RowReader } from './sqlite/sqlite-rows.ts'
import type { StorageFile, StoredRecord } from './storage.ts'

/** A file that is not read for so long is closed: the last connection to it removes its log. */
const idleMs = 100

type Open = { readonly file: StorageFile; readonly connection: Database.Database; readonly rows: RowReader }

/** Reads a database file in a thread beside the one that serves requests, which writes it. */
export class ThreadReader {
  #open: Open | undefined
  #idle: NodeJS.Timeout | undefined

  /** Like `list` of the storage. Throws whatever the engine throws. */
  list(file: StorageFile, prefix: string, range: { after?: string; limit: number }): StoredRecord[] {
    if (this.#open !== undefined && !isSame(this.#open.file, file)) this.#close()
    this.#open ??= opened(file)
    this.#idle = this.#idle?.refresh() ?? setTimeout(() => this.#close(), idleMs)
    return this.#open.rows.list(prefix, range)
  }

  #close(): void {
    clearTimeout(this.#idle)
    this.#idle = undefined
    this.#open?.connection.close()
    this.#open = undefined
  }
}

const isSame = (one: StorageFile, other: StorageFile): boolean =>
  one.path === other.path && isSameFile(one.identity, other.identity)

function opened(file: StorageFile): Open {
  const { path, identity } = file
  // one opened as readonly could not remove the log
  const connection = new Database(path, { fileMustExist: true })
  try {
    connection.pragma('query_only = 1')
    // another file may have its place
    if (!isSameFile(identityOf(path), identity)) throw new Error(`${path} was replaced`)
    return { file, connection, rows: new RowReader(connection) }
  } catch (cause) {
    connection.close()
    throw cause
  }
}
