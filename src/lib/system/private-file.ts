import {
  closeSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'

/**
 * Creates a folder and its missing parents, accessible to their owner only. Does so step by step, because
 * Node's recursive `mkdir` never ends where a system reports "not found" although the parent exists (`/proc`,
 * automounts).
 */
export function makePrivateFolder(path: string): void {
  const above = dirname(path)
  if (existsSync(path) || above === path) return
  makePrivateFolder(above)
  try {
    mkdirSync(path, { mode: 0o700 })
    syncFolder(above)
  } catch (cause) {
    // another process created it first
    if (systemCode(cause) !== 'EEXIST') throw cause
  }
}

/**
 * Writes a file and makes it readable by its owner only, even if it existed. The file and its name are
 * durable when this returns.
 */
export function writePrivateFile(path: string, text: string): void {
  writeDurably(path, text, 'w')
  syncFolder(dirname(path))
}

/**
 * Creates a file that only its owner can read, atomically: the file exists completely or not at all, even if
 * the process is killed or the power fails. The file and its name are durable when this returns. Throws
 * `EEXIST` if the file exists; with `replaceEmpty`, an empty file does not count. `suffix` must be unique.
 */
export function makePrivateFile(
  path: string,
  text: Uint8Array,
  { suffix, replaceEmpty }: { suffix: string; replaceEmpty: boolean },
): void {
  const draft = `${path}.${suffix}`
  writeDurably(draft, text, 'wx')
  try {
    if (replaceEmpty && existsSync(path) && isAbsentOrEmpty(path)) removeEmpty(path, `${draft}.old`)
    placeExclusively(draft, path)
  } finally {
    rmSync(draft, { force: true })
  }
  syncFolder(dirname(path))
}

/** The errors of file systems without hard links, such as FAT. */
const noLinks: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

function placeExclusively(draft: string, path: string): void {
  try {
    linkSync(draft, path)
  } catch (cause) {
    if (!noLinks.has(systemCode(cause))) throw cause
    // create an empty file exclusively first, so only one of two processes succeeds
    closeSync(openSync(path, 'wx', 0o600))
    renameSync(draft, path)
  }
}

function writeDurably(path: string, text: string | Uint8Array, flags: 'w' | 'wx'): void {
  const file = openSync(path, flags, 0o600)
  try {
    fchmodSync(file, 0o600)
    writeFileSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

export function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** Whether the file is missing or empty. */
export const isAbsentOrEmpty = (path: string): boolean => {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined || (found.isFile() && found.size === 0)
}

/** Moves the file away before checking it, so that what another process has just written is not lost. */
function removeEmpty(path: string, aside: string): void {
  renameSync(path, aside)
  try {
    if (!isAbsentOrEmpty(aside)) linkSync(aside, path)
  } finally {
    unlinkSync(aside)
  }
}

/** A system error for whoever runs the program: its code, and what it means. */
export function systemReason(cause: unknown): string {
  const code = systemCode(cause)
  const meaning = meanings[code]
  return meaning === undefined ? code : `${code}: ${meaning}`
}

const meanings: Readonly<Record<string, string>> = {
  EACCES: 'the user of this process may not do that',
  EPERM: 'the user of this process may not do that',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EISDIR: 'it is a folder',
}

/** The code of a system error, such as `ENOENT`, or the name of another error. */
export function systemCode(cause: unknown): string {
  if (!(cause instanceof Error)) return 'unknown'
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name
}
