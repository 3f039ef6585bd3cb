import { closeSync, futimesSync, openSync, statSync } from 'node:fs'

const noteOf = (database: string): string => `${database}.last-backup`

/**
 * Notes, in the time of an empty file beside the database, that a backup is complete: the command and the
 * server are different processes. Best effort, as the file only feeds a metric.
 */
export function noteBackup(database: string, time = Date.now()): void {
  try {
    const file = openSync(noteOf(database), 'a', 0o600)
    try {
      futimesSync(file, time / 1000, time / 1000)
    } finally {
      closeSync(file)
    }
  } catch {
    // a backup may be made by a user who cannot write here
  }
}

/** Time of the last backup in milliseconds; undefined if there was none. */
export const lastBackup = (database: string): number | undefined =>
  statSync(noteOf(database), { throwIfNoEntry: false })?.mtimeMs
