import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { makeTemporaryFolder, type TemporaryFolder } from '../simulators/exit.ts'

/**
 * Makes a folder for one run, on the disk of the work tree: a temporary folder may be in memory, where a
 * commit costs nothing.
 */
export const makeBenchFolder = (): Promise<TemporaryFolder> =>
  makeTemporaryFolder(join(import.meta.dirname, '..', 'data'), 'bench-')

/** A folder for one run or, if it has a name, one that stays and knows whether its store has been filled. */
export async function openKeptFolder(
  path: string | undefined,
): Promise<TemporaryFolder & { readonly isFilled: boolean; markFilled(): Promise<void> }> {
  const folder = path === undefined ? await makeBenchFolder() : await keptFolder(path)
  const marker = join(folder.path, 'filled')
  return { ...folder, isFilled: existsSync(marker), markFilled: () => writeFile(marker, '') }
}

async function keptFolder(given: string): Promise<TemporaryFolder> {
  const path = resolve(given)
  await mkdir(path, { recursive: true, mode: 0o700 })
  return { path, [Symbol.asyncDispose]: async () => {} }
}
