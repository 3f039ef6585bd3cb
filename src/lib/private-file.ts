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
 * The folder, and those above it that are missing, for their owner only. Step by step: where a system says
 * "not found" although all above is there (`/proc`, automounts), `mkdir` of Node.js with `recursive` never
 * ends.
 */
export function makePrivateFolder(path: string): void {
  const above = dirname(path)
  if (existsSync(path) || above === path) return
  makePrivateFolder(above)
  try {
    mkdirSync(path, { mode: 0o700 })
    syncFolder(above)
  } catch (cause) {
    // somebody else was quicker
    if (systemCode(cause) !== 'EEXIST') throw cause
  }
}

/**
 * Writes a file that only its owner can read, whatever it was before. File and name are durable when this
 * returns.
 */
export function writePrivateFile(path: string, text: string): void {
  writeDurably(path, text, 'w')
  syncFolder(dirname(path))
}

/**
 * Makes a file that only its owner can read. There is either no file or the whole one, even if the process is
 * killed or the power fails. The file and its name are durable when this returns. Throws `EEXIST` rather than
 * overwrite; with `replaceEmpty`, an empty file counts as none. `suffix` is unique.
 */
export function makePrivateFile(
  path: string,
  text: string,
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

/** What a system says that knows no second name for a file, FAT for one. */
const noLinks: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

function placeExclusively(draft: string, path: string): void {
  try {
    linkSync(draft, path)
  } catch (cause) {
    if (!noLinks.has(systemCode(cause))) throw cause
    // an empty file takes the name first: of two processes one wins
    closeSync(openSync(path, 'wx', 0o600))
    renameSync(draft, path)
  }
}

function writeDurably(path: string, text: string, flags: 'w' | 'wx'): void {
  const file = openSync(path, flags, 0o600)
  try {
    fchmodSync(file, 0o600)
    writeFileSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** Whether there is no file, or one that holds nothing. */
export const isAbsentOrEmpty = (path: string): boolean => {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined || (found.isFile() && found.size === 0)
}

/** Moved away before it is judged, so that nothing another process has just written is lost. */
function removeEmpty(path: string, aside: string): void {
  renameSync(path, aside)
  try {
    if (!isAbsentOrEmpty(aside)) linkSync(aside, path)
  } finally {
    unlinkSync(aside)
  }
}

/** `ENOENT` and its like; of another failure its name. */
export function systemCode(cause: unknown): string {
  if (!(cause instanceof Error)) return 'unknown'
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name
}
