import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'

const parent = join(import.meta.dirname, '..', 'data')

/** A folder for one run, on the disk of the work tree (a temporary folder may be in memory, where a commit costs nothing). */
export interface BenchFolder extends AsyncDisposable {
  readonly path: string
}

export async function makeBenchFolder(): Promise<BenchFolder> {
  await mkdir(parent, { recursive: true, mode: 0o700 })
  const path = await mkdtemp(join(parent, 'bench-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 10 }) }
}
