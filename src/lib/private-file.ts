import { closeSync, fchmodSync, fsyncSync, openSync, writeSync } from 'node:fs'

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
