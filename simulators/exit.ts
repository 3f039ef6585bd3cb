import type { ChildProcess } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** A folder that is removed when it is disposed, or when this process exits. */
export interface TemporaryFolder extends AsyncDisposable {
  readonly path: string
}

const removal = { recursive: true, force: true, maxRetries: 10 }

/** Makes a folder `<prefix>…` in `parent`, which is made if missing; new folders are for this user only. */
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

const children = new Set<ChildProcess>()
const killChildren = () => {
  for (const child of children) child.kill('SIGKILL')
}

/** Kills the child if this process exits first. */
export function killOnExit(child: ChildProcess): void {
  // runs before the removal of the folders that children write to
  if (children.size === 0) process.prependListener('exit', killChildren)
  children.add(child)
  child.on('close', () => {
    children.delete(child)
    if (children.size === 0) process.off('exit', killChildren)
  })
}

/** Exits on Ctrl-C or SIGTERM, so that the exit handlers registered above run. */
export function exitOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
}
