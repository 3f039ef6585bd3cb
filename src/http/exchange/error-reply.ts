import { HttpError } from '@fastify/sensible'
import { causeList, type ErrorKind, ServiceError } from '../../errors.ts'

/**
 * The only mapping from kinds to statuses; a new kind without one does not compile.
 * docs/contract/http.md#errors
 */
const statusOf: Record<ErrorKind, number> = {
  invalid: 400,
  denied: 403,
  missing: 404,
  unsupported: 405,
  precondition: 412,
  'too-large': 413,
  'unsupported-media': 415,
  throttled: 429,
  limited: 429,
  internal: 500,
  unrecorded: 500,
  upstream: 502,
  sealed: 503,
  unavailable: 503,
  overloaded: 503,
}

export type ErrorReply = { status: number; body: string; retryAfter: string | undefined }

export const errorBody = (...errors: string[]): string => `${JSON.stringify({ errors })}\n`

/**
 * Status and body of a failure. `open`: the path needs no token, so causes go out bare.
 * docs/contract/http.md#errors
 */
export function errorReply(error: ServiceError, open: boolean): ErrorReply {
  const text = failureText(error, open)
  const status = statusOf[error.kind]
  const retryAfter =
    error.retryAfterSeconds?.toString() ?? (mayPass.has(error.kind) ? retrySeconds(error) : undefined)
  return { status, body: text === '' ? errorBody() : errorBody(text), retryAfter }
}

/** The text of a failure in its response; empty without one. */
export function failureText(error: unknown, open: boolean): string {
  if (error instanceof HttpError && error.statusCode < 500) return ''
  const { wrapped, message } = error instanceof ServiceError ? error : bug
  return wrapped && !open ? causeList(message) : message
}

const bug = new ServiceError('internal', 'internal error')

/** What is thrown and no ServiceError is a bug: no detail leaves the server. */
export const bugReply = (open: boolean): ErrorReply => errorReply(bug, open)

/** Worth retrying a little later. */
const mayPass: ReadonlySet<ErrorKind> = new Set(['throttled', 'unavailable', 'overloaded'])

const slow = /^storage is (?:full|read-only)/
const retrySeconds = ({ kind, message }: ServiceError): string =>
  kind === 'throttled' || slow.test(message) ? '10' : '1'
