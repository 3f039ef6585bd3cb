import { rm } from 'node:fs/promises'

/**
 * Removes a copy of a database, with the journal that a killed process may have left: SQLite would apply it to
 * the next copy of that name.
 */
export async function removeCopy(path: string): Promise<void> {
  for (const end of ['-journal', '']) await rm(path + end, { force: true })
}
