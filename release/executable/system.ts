import { dlopen, getRawPointer } from 'node:ffi'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const isLinux = process.platform === 'linux'

/** Of Linux's headers. */
const [arenaMax, mmapThreshold, coreSize, closeOnExec, executable] = [-8, -3, 4, 1, 0x10]

/** What `bin/gatehouse` does before it starts Node: no core files, which would hold keys, and less memory. */
export function prepareProcess(): void {
  process.env['UV_THREADPOOL_SIZE'] ??= '16'
  if (process.platform === 'win32') return
  const none = Buffer.alloc(16)
  const { functions } = dlopen(null, { setrlimit: { return: 'i32', arguments: ['i32', 'pointer'] } })
  functions.setrlimit(coreSize, getRawPointer(none))
  if (!isLinux) return
  const { functions: memory } = dlopen(null, { mallopt: { return: 'i32', arguments: ['i32', 'i32'] } })
  memory.mallopt(arenaMax, 1)
  memory.mallopt(mmapThreshold, 24_576)
}

/**
 * A path by which every thread of this process can load the library. All must load the same file: with a second
 * copy of SQLite in the process, one copy would release the file locks of the other. On Linux the file is in
 * memory, so that no disk needs to be writable. Elsewhere it is in a folder that only this user can open,
 * until the process ends.
 */
export function libraryPath(name: string, content: Uint8Array): string {
  if (isLinux) return inMemory(name, content)
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, name)
  writeFileSync(path, content, { flag: 'wx', mode: 0o500 })
  return path
}

function inMemory(file: string, content: Uint8Array): string {
  const { functions } = dlopen(null, { memfd_create: { return: 'i32', arguments: ['pointer', 'u32'] } })
  const name = Buffer.from(`${file}\0`)
  const create = (flags: number): number => Number(functions.memfd_create(getRawPointer(name), flags))
  // before Linux 6.3 every such file could be executed, and the flag is unknown
  const wanted = create(closeOnExec | executable)
  const descriptor = wanted === -1 ? create(closeOnExec) : wanted
  if (descriptor === -1) throw new Error(`the system provides no file in memory for ${file}`)
  for (let at = 0; at < content.length; ) at += writeSync(descriptor, content, at)
  // read-only from now on, and by one name in all threads
  const path = `/proc/self/fd/${openSync(`/proc/self/fd/${descriptor}`, 'r')}`
  closeSync(descriptor)
  return path
}
