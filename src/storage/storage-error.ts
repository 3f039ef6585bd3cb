import { ServiceError } from '../errors.ts'
import type { FailureKind } from './storage-events.ts'

/** Our own codes, in addition to those of SQLite. */
export const ownCodes = {
  /** The log may not grow further; the message says why. */
  logFull: 'LOG_FULL',
  /** The database may not grow further; the message says why. */
  roomKept: 'ROOM_KEPT',
  /** The integrity check after a failure found damage. */
  damaged: 'DATABASE_DAMAGED',
  /** The file at the database's path is not the one that was opened. */
  replaced: 'FILE_REPLACED',
  /** A copy of the database was ended early. */
  aborted: 'COPY_ABORTED',
} as const

const explainedFull: ReadonlySet<string> = new Set([ownCodes.logFull, ownCodes.roomKept])

/**
 * Converts an engine failure to an error whose text is the same for every adapter.
 * docs/storage.md#when-the-disk-fails
 */
export function storageError(code: string, cause?: unknown): ServiceError {
  const options = { cause, reason: code }
  if (isMalformed(code)) return new ServiceError('internal', 'database disk image is malformed', options)
  if (explainedFull.has(code) && cause instanceof Error)
    return new ServiceError('unavailable', `storage is full: ${cause.message}`, options)
  if (isFull(code)) return new ServiceError('unavailable', 'storage is full', options)
  if (isReadOnly(code)) return new ServiceError('unavailable', 'storage is read-only', options)
  return new ServiceError('unavailable', 'storage is unavailable', options)
}

export function failureKind(code: string): FailureKind {
  if (isMalformed(code) || code === ownCodes.damaged) return 'corrupt'
  if (isFull(code) || explainedFull.has(code)) return 'full'
  if (isReadOnly(code)) return 'read_only'
  if (code.startsWith('SQLITE_IOERR') || code === '58030') return 'io'
  return code === ownCodes.replaced ? 'replaced' : 'other'
}

/** SQLite's code, or PostgreSQL's. */
const isFull = (code: string) => code === 'SQLITE_FULL' || code === '53100'
const isReadOnly = (code: string) => code.startsWith('SQLITE_READONLY') || code === '25006'
const isMalformed = (code: string) =>
  code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB' || code === 'XX001' || code === 'XX002'

/** The engine's error code, or `UNKNOWN`. */
export function engineCode(cause: unknown): string {
  if (typeof cause === 'object' && cause !== null && 'code' in cause && typeof cause.code === 'string')
    return cause.code
  return 'UNKNOWN'
}
