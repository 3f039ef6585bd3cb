import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const mount = (folder: string, size: string) =>
  spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder]).status === 0

const unmount = (folder: string) => void spawnSync('umount', ['--lazy', folder])

export type SmallDisk = Disposable & { readonly path: string; setReadOnly(isReadOnly: boolean): void }

/** A file system of its own, in memory; undefined where mounting is not allowed. Unmounted when disposed. */
export function mountSmallDisk(size: string): SmallDisk | undefined {
  const path = mkdtempSync(join(tmpdir(), 'gatehouse-disk-'))
  const isMounted = mount(path, size)
  const remove = () => {
    if (isMounted) unmount(path)
    rmdirSync(path)
  }
  if (!isMounted) remove()
  const setReadOnly = (isReadOnly: boolean) => {
    const { status } = spawnSync('mount', ['-o', `remount,${isReadOnly ? 'ro' : 'rw'}`, path])
    if (status !== 0) throw new Error(`the file system was not mounted again: ${status}`)
  }
  return isMounted ? { path, setReadOnly, [Symbol.dispose]: remove } : undefined
}
