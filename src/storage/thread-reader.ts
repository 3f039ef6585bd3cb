import Database from 'better-sqlite3'
import { type FileIdentity, identityOf, isSameFile } from './file-watch.ts'
import { RowReader } from './sqlite-rows.ts'
import type { StorageFile, StoredRecord } from './storage.ts'

/** A file that is not read for so long is closed: the last connection to it removes its log. */
const idleMs = 100

type Open = { readonly path: string; readonly connection: Database.Database; readonly rows: RowReader }

/** Reads a database file in a thread beside the one that serves requests, which writes it. */
export class ThreadReader {
  #open: Open | undefined
  #idle: NodeJS.Timeout | undefined

  /** Like `list` of the storage. Throws whatever the engine throws. */
  list(file: StorageFile, prefix: string, range: { after?: string; limit: number }): StoredRecord[] {
    if (this.#open?.path !== file.path) this.#close()
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

function opened({ path, identity }: StorageFile): Open {
  const connection = new Database(path, { readonly: true, fileMustExist: true })
  try {
    // another file may have its place
    if (!isSameFile(identityOf(path), identity satisfies FileIdentity))
      throw new Error(`${path} was replaced`)
    return { path, connection, rows: new RowReader(connection) }
  } catch (cause) {
    connection.close()
    throw cause
  }
}
