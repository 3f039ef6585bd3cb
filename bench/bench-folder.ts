import { join } from 'node:path'
import { makeTemporaryFolder, type TemporaryFolder } from '../simulators/exit.ts'

/**
 * Makes a folder for one run, on the disk of the work tree: a temporary folder may be in memory, where a
 * commit costs nothing.
 */
export const makeBenchFolder = (): Promise<TemporaryFolder> =>
  makeTemporaryFolder(join(import.meta.dirname, '..', 'data'), 'bench-')
