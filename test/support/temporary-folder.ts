import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A new folder, deleted with its content when disposed. */
export async function temporaryFolder(): Promise<
  AsyncDisposable & { path: string; file(name: string): string }
> {
  const path = await mkdtemp(join(tmpdir(), 'gatehouse-'))
  return {
    path,
    file: (name) => join(path, name),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  }
}
