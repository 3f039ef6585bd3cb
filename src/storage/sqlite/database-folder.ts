import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { StartError } from '../../errors.ts'
import { makePrivateFolder } from '../../lib/system/private-file.ts'

const defaultFolder = 'data'

/**
 * Makes the default folder of the database. Throws a StartError 7 if another one is missing: it may be on a disk that is
 * not there, and what would be written in its place would hide that.
 */
export function requireFolderOf(path: string): void {
  const folder = dirname(path)
  if (resolve(folder) === resolve(defaultFolder)) makePrivateFolder(folder)
  else if (!existsSync(folder))
    throw new StartError(
      7,
      `cannot open ${path}: the folder ${folder} is missing: mount its disk, or make it`,
    )
}
