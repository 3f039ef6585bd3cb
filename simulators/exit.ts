import type { ChildProcess } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** A folder that goes when it is disposed, or when this process ends first. */
export interface TemporaryFolder extends AsyncDisposable {
  readonly path: string
}

const removal = { recursive: true, force: true, maxRetries: 10 }

/** Makes a folder `<prefix>…` in `parent`, for this user only. */
export async function makeTemporaryFolder(parent: string, prefix: string): Promise<TemporaryFolder> {
  await mkdir(parent, { recursive: true, mode: 0o700 })
  const path = await mkdtemp(join(parent, prefix))
  const removeNow = () => rmSync(path, removal)
  process.on('exit', removeNow)
  const dispose = async () => {
    process.off('exit', removeNow)
    await rm(path, removal)
  }
  return { path, [Symbol.asyncDispose]: dispose }
}

/** Kills the child when this process ends before it. */
export function endWithUs(child: ChildProcess): void {
  const kill = () => void child.kill('SIGKILL')
  // before the folders go that it writes to
  process.prependListener('exit', kill)
  child.on('close', () => process.off('exit', kill))
}

/** Ends the process on Ctrl-C or SIGTERM, so that what was registered above is cleaned up. */
export function exitOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
}
