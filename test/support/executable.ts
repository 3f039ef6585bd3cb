import { join } from 'node:path'
import { buildExecutable } from '../../release/executable.ts'

/** Kept between runs: it is built again when its sources have changed. */
const folder = join(import.meta.dirname, '../../node_modules/.cache/test-executable')

/** The file that `npm run release` makes. */
export const executable = (): Promise<string> => buildExecutable(folder)
