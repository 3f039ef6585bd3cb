import { statSync } from 'node:fs'
import { ownCodes } from '../storage-error.ts'

/** Size of the write-ahead log at which a long reader of a database gives up. */
const maxReadLogBytes = 768 * 1024 * 1024

/**
 * The write-ahead log of a running server cannot be emptied while another program reads, and above its limit
 * the server refuses writes. Throws before that.
 */
export function checkLogSize(path: string, maxBytes = maxReadLogBytes): void {
  const size = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  if (size <= maxBytes) return
  const text = `the write-ahead log has grown to ${Math.round(size / 1024 ** 2)} MiB meanwhile`
  throw Object.assign(new Error(text), { code: ownCodes.logFull })
}
