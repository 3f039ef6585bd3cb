import type Database from 'better-sqlite3'
import { StartError } from '../errors.ts'
import { readMeta } from './migrate.ts'

/**
 * Numbers in the table `meta` that keep servers from a store. The value identifies the store whose records
 * were copied. docs/operations.md#move-between-sqlite-and-postgresql
 */
export type CopyMark = 'unfinished_copy' | 'moved'

export type CopyMarks = { readonly [mark in CopyMark]: number | undefined }

/** Throws a StartError 2 for a store that no server may use. */
export function refuseMarked(name: string, { unfinished_copy, moved }: CopyMarks): void {
  if (unfinished_copy !== undefined)
    throw new StartError(
      2,
      `cannot open ${name}: it is an unfinished copy; finish it with npm run storage:copy -- FROM TO --resume`,
    )
  if (moved !== undefined)
    throw new StartError(
      2,
      `cannot open ${name}: its records were moved with storage:copy; use their new place`,
    )
}

/** The marks of a SQLite database with a table `meta`. */
export const marksOf = (connection: Database.Database): CopyMarks => ({
  unfinished_copy: readMeta(connection, 'unfinished_copy'),
  moved: readMeta(connection, 'moved'),
})
