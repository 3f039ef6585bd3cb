import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const mount = (folder: string, size: string) =>
  spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder]).status === 0

const unmount = (folder: string) => void spawnSync('umount', ['--lazy', folder])

/** A file system of its own, in memory; undefined where mounting is not allowed. Unmounted when disposed. */
export function mountSmallDisk(size: string): (Disposable & { readonly path: string }) | undefined {
  const path = mkdtempSync(join(tmpdir(), 'gatehouse-disk-'))
  const isMounted = mount(path, size)
  const remove = () => {
    if (isMounted) unmount(path)
    rmdirSync(path)
  }
  if (!isMounted) remove()
  return isMounted ? { path, [Symbol.dispose]: remove } : undefined
}
