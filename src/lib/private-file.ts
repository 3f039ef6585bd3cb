import { closeSync, existsSync, fchmodSync, fsyncSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * The folder, and those above it that are missing, for their owner only. Step by step: where a system says "not found" although all above is there
 * (`/proc`, automounts), `mkdir` of Node.js with `recursive` never ends.
 */
export function makePrivateFolder(path: string): void {
  const above = dirname(path)
  if (existsSync(path) || above === path) return
  makePrivateFolder(above)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (cause) {
    // somebody else was quicker
    if (systemCode(cause) !== 'EEXIST') throw cause
  }
}

/** Writes a file that only its owner can read, whatever it was before; it is on the disk afterwards. */
export function writePrivateFile(path: string, text: string): void {
  const file = openSync(path, 'w', 0o600)
  try {
    fchmodSync(file, 0o600)
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** `ENOENT` and its like; of another failure its name. */
export function systemCode(cause: unknown): string {
  if (!(cause instanceof Error)) return 'unknown'
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name
}
