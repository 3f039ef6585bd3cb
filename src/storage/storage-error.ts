import { ServiceError } from '../errors.ts'

/** What goes out for a failure of the engine: the same words for every adapter. Contract operations §5. */
export function storageError(code: string, cause?: unknown): ServiceError {
  const options = { cause, reason: code }
  if (code === 'SQLITE_FULL') return new ServiceError('unavailable', 'storage is full', options)
  if (code.startsWith('SQLITE_READONLY')) return new ServiceError('unavailable', 'storage is read-only', options)
  return new ServiceError('unavailable', 'storage is unavailable', options)
}

/** The engine's own word for what failed, or `UNKNOWN`. */
export function engineCode(cause: unknown): string {
  if (typeof cause === 'object' && cause !== null && 'code' in cause && typeof cause.code === 'string') return cause.code
  return 'UNKNOWN'
}
