import { ServiceError } from '../../errors.ts'
import { engineCode, storageError } from '../storage-error.ts'

/** This server's row in `replicas` is gone: another server took it for dead. */
export class FencedError extends Error {
  readonly code = 'FENCED'
}

/** Nobody knows whether the commit has happened. */
export class UndecidedError extends Error {
  readonly code = 'UNDECIDED'
}

/** The commit has not happened, and cannot happen any more. */
export class LostCommitError extends Error {
  readonly code = 'COMMIT_LOST'
}

const isOwn = (cause: unknown) =>
  [FencedError, UndecidedError, LostCommitError].some((type) => cause instanceof type)

const connectionClass = /^(?:08|57P)/
/** Wrong user, password or database, or missing rights. */
const refusal = /^(?:28|3D|42501)/
/** Codes of the operating system, such as EPIPE, begin with E. */
const sqlState = /^[0-9A-DF-Z][0-9A-Z]{4}$/

/** Whether the connection failed, so that a statement under way may have been executed or not. */
export const isConnectionFailure = (cause: unknown): boolean => {
  if (isOwn(cause)) return false
  const code = engineCode(cause)
  return !sqlState.test(code) || connectionClass.test(code)
}

/** Whether the connections of the pool may lead to a database that no longer accepts writes. */
export const endsConnections = (cause: unknown): boolean => ['25006', '57P01'].includes(engineCode(cause))

const conflicts = new Set(['40001', '40P01', '23505', 'COMMIT_LOST'])

/** Whether the same group may succeed if it is decided again. */
export const isConflict = (cause: unknown): boolean => conflicts.has(engineCode(cause))

/** Whether the database refuses the user, so that somebody must change something. */
export const isRefusal = (cause: unknown): boolean => refusal.test(engineCode(cause))

/** Whether other calls will fail for the same reason. */
export const isLasting = (cause: unknown): boolean =>
  isConnectionFailure(cause) || isRefusal(cause) || /^(?:25006|53|58)/.test(engineCode(cause))

/** What callers see of a failure of the database. */
export const failureOf = (cause: unknown): ServiceError =>
  cause instanceof ServiceError ? cause : storageError(engineCode(cause), cause)
