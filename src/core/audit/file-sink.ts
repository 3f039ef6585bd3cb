import {
  closeSync,
  constants,
  fchmodSync,
  fdatasync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readSync,
  realpathSync,
  type Stats,
} from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import { makePrivateFolder, systemCode } from '../../lib/system/private-file.ts'
import type { AuditFaults } from './audit-faults.ts'
import { type ChainHead, linkOf, maxMemberBytes } from './chain.ts'
import { FdWriter } from './fd-writer.ts'
import type { Sink, SinkEnd, SinkTarget } from './sink.ts'

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDWR, O_WRONLY } = constants
const syncData = promisify(fdatasync)
const lineEnd = 0x0a
const chunkBytes = 64 * 1024

export type FileTarget = SinkTarget & { kind: 'file' }

/** A file that lines are appended to; or a FIFO, which is never waited for. */
export class FileSink implements Sink {
  readonly #target: FileTarget
  readonly #writer: FdWriter
  #file: { fd: number; found: Stats } | undefined

  constructor(target: FileTarget, faults: AuditFaults | undefined) {
    this.#target = target
    this.#writer = new FdWriter(faults)
  }

  get isReadable(): boolean {
    return this.#file?.found.isFile() ?? true
  }

  open(): SinkEnd {
    const { fd, isNew } = openFile(this.#target)
    try {
      const found = fstatSync(fd)
      if (found.isDirectory()) throw Object.assign(new Error('is a directory'), { code: 'EISDIR' })
      if (found.isFile() && this.#target.mode !== 0) fchmodSync(fd, this.#target.mode)
      this.#file = { fd, found }
      return found.isFile() ? { isNew, ...readEnd(fd, found.size) } : { isNew, torn: this.#writer.takeTorn() }
    } catch (cause) {
      this.#file = undefined
      closeSync(fd)
      throw cause
    }
  }

  async write(lines: readonly string[]): Promise<void> {
    if (this.#file === undefined) return
    try {
      await this.#writer.write(this.#file.fd, lines)
    } catch (cause) {
      if (this.#file.found.isFile()) this.#removeTorn(this.#file.fd)
      throw cause
    }
  }

  /** Leaves whole lines, because the file may be moved away before the next write. */
  #removeTorn(fd: number): void {
    const torn = this.#writer.takeTorn()
    if (torn === undefined) return
    try {
      ftruncateSync(fd, fstatSync(fd).size - torn.bytes)
    } catch {
      // an append-only file: the next writer reports the torn line
    }
  }

  async sync(): Promise<void> {
    if (this.#file?.found.isFile() === true) await syncData(this.#file.fd)
  }

  isReplaced(): boolean {
    if (this.#file === undefined) return false
    const now = lstatSync(this.#target.path, { throwIfNoEntry: false })
    return now === undefined || now.ino !== this.#file.found.ino || now.dev !== this.#file.found.dev
  }

  close(): void {
    const file = this.#file
    this.#file = undefined
    if (file !== undefined) closeSync(file.fd)
  }
}

/** Opens or creates the file. Follows no symbolic link out of the allowed folders. */
function openFile(target: FileTarget): { fd: number; isNew: boolean } {
  const path = realPathOf(target)
  for (;;) {
    const found = lstatSync(path, { throwIfNoEntry: false })
    // a FIFO that is also open for reading would never tell that its reader is gone
    const access = found === undefined || found.isFile() ? O_RDWR : O_WRONLY
    const flags = access | O_APPEND | O_NOFOLLOW | O_NONBLOCK
    try {
      if (found !== undefined) return { fd: openSync(path, flags), isNew: false }
      return {
        fd: openSync(path, flags | O_CREAT | O_EXCL, target.mode === 0 ? 0o600 : target.mode),
        isNew: true,
      }
    } catch (cause) {
      // created or removed in between
      const code = systemCode(cause)
      if (code !== (found === undefined ? 'EEXIST' : 'ENOENT')) throw cause
    }
  }
}

/** The file's path without symbolic links. Creates missing folders, but only inside the allowed ones. */
function realPathOf({ path, directories }: FileTarget): string {
  const full = resolve(path)
  const folder = dirname(full)
  const allowed = directories.map(nearestRealPath)
  const check = (real: string) => {
    if (!allowed.some((directory) => isWithin(directory, real))) throw notAllowed()
  }
  check(nearestRealPath(folder))
  makePrivateFolder(folder)
  const real = realpathSync(folder)
  check(real)
  return join(real, basename(full))
}

const notAllowed = () =>
  Object.assign(new Error('file_path is not in an allowed directory'), { code: 'EACCES' })

/** Whether a device may write to a file at `path`. */
export function isInDirectories(path: string, directories: readonly string[]): boolean {
  try {
    const folder = nearestRealPath(dirname(resolve(path)))
    return directories.map(nearestRealPath).some((directory) => isWithin(directory, folder))
  } catch {
    // below a file, a name that is too long, …
    return false
  }
}

function isWithin(directory: string, folder: string): boolean {
  const way = relative(directory, folder)
  return way === '' || !(way.startsWith('..') || isAbsolute(way))
}

/** The path of a file without symbolic links in its folders, none of which need exist yet. */
export const realFile = (path: string): string =>
  join(nearestRealPath(dirname(resolve(path))), basename(resolve(path)))

/** The real path of a folder that need not exist yet. */
function nearestRealPath(path: string): string {
  const full = resolve(path)
  try {
    return realpathSync(full)
  } catch (cause) {
    if (systemCode(cause) !== 'ENOENT' || dirname(full) === full) throw cause
    return join(nearestRealPath(dirname(full)), basename(full))
  }
}

function readEnd(fd: number, size: number): Pick<SinkEnd, 'head' | 'torn'> {
  const linesEnd = lastLineEnd(fd, size)
  const head = linesEnd === 0 ? undefined : linkEndingAt(fd, linesEnd - 1)
  if (linesEnd < size) return { head, torn: { bytes: size - linesEnd, isEnded: false } }
  if (head !== undefined || size === 0) return { head }
  // a writer was killed after it had ended an incomplete line
  const start = lastLineEnd(fd, linesEnd - 1)
  const before = start === 0 ? undefined : linkEndingAt(fd, start - 1)
  return { head: before, torn: { bytes: linesEnd - 1 - start, isEnded: true } }
}

function linkEndingAt(fd: number, end: number): ChainHead | undefined {
  const tail = Buffer.alloc(Math.min(end, maxMemberBytes))
  readSync(fd, tail, 0, tail.length, end - tail.length)
  return linkOf(tail)
}

/** The position after the last line end before `size`; 0 if there is none. */
function lastLineEnd(fd: number, size: number): number {
  const chunk = Buffer.alloc(chunkBytes)
  for (let end = size; end > 0; end -= chunkBytes) {
    const start = Math.max(0, end - chunkBytes)
    const read = readSync(fd, chunk, 0, end - start, start)
    const at = chunk.subarray(0, read).lastIndexOf(lineEnd)
    if (at >= 0) return start + at + 1
  }
  return 0
}
