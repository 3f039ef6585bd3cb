/** Why a request failed. Only `http/exchange/error-reply.ts` maps kinds to HTTP statuses. */
export type ErrorKind =
  | 'invalid'
  | 'denied'
  | 'missing'
  | 'unsupported'
  | 'too-large'
  | 'precondition'
  | 'unsupported-media'
  | 'throttled'
  | 'limited'
  | 'internal'
  | 'unrecorded'
  | 'upstream'
  | 'sealed'
  | 'unavailable'
  | 'overloaded'

export type ServiceErrorOptions = ErrorOptions & {
  /**
   * True for a failure, whose text is sent as a list of causes on authenticated paths; false for a refusal.
   * docs/contract/http.md#errors
   */
  wrapped?: boolean
  /** Stable identifier for logs, audit and metrics; never sent to the client. docs/explain.md#reasons */
  reason?: string
  /** The cause, for the operator: in the log and in `failures`, never sent to the client. */
  operatorText?: string | undefined
  /** An `internal` failure that clients depend on: it is no fault of the server, and nobody has to act. */
  isPromised?: boolean
  /** Seconds after which the client should retry, if known. */
  retryAfterSeconds?: number | undefined
  /** A caller's mistake that Vault reports as its own failure. docs/contract/inline-login.md#refusals */
  isFailureElsewhere?: boolean
}

/** An error that is reported to the client. Any other error is a bug and returns 500 without details. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly kind: ErrorKind
  readonly wrapped: boolean
  readonly reason: string | undefined
  readonly operatorText: string | undefined
  readonly isPromised: boolean
  readonly retryAfterSeconds: number | undefined
  readonly isFailureElsewhere: boolean

  constructor(kind: ErrorKind, message: string, options: ServiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.kind = kind
    this.wrapped = options.wrapped ?? false
    this.reason = options.reason
    this.operatorText = options.operatorText
    this.isPromised = options.isPromised ?? false
    this.retryAfterSeconds = options.retryAfterSeconds
    this.isFailureElsewhere = options.isFailureElsewhere ?? false
  }
}

/** Joins several causes in the form that clients match. docs/contract/http.md#errors, `M(x)` */
export function causeList(...causes: string[]): string {
  const head = causes.length === 1 ? '1 error occurred:' : `${causes.length} errors occurred:`
  return `${head}\n${causes.map((cause) => `\t* ${cause}\n`).join('')}\n`
}

/**
 * A refusal by a handler; its text is sent unchanged. It has no stack: nobody reads it, and it costs more than the rest
 * of the error.
 */
export function refuse(kind: ErrorKind, message: string, options: ServiceErrorOptions = {}): ServiceError {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return new ServiceError(kind, message, options)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/**
 * The refusal of a token that is unknown, revoked, expired or spent. Agents log in again only if the text has
 * `invalid token`. docs/contract/http.md#errors
 */
export const invalidToken = () => refuse('denied', causeList('permission denied', 'invalid token'))

/** A failure; its text is sent as a list of causes on authenticated paths. */
export const fail = (kind: ErrorKind, message: string, options: ServiceErrorOptions = {}) =>
  new ServiceError(kind, message, { ...options, wrapped: true })

type StartExitCode = 1 | 2 | 3 | 4 | 5 | 7

/**
 * The server cannot start: the process logs the message and exits with the code. 1: an essential part of the
 * store is damaged; 2: invalid setting; 3: storage in use; 4: storage of a later version; 5: seal key; 7: the
 * storage of an earlier start is missing.
 * docs/settings.md#exit-codes
 */
export class StartError extends Error {
  override readonly name = 'StartError'
  readonly exitCode: StartExitCode

  constructor(exitCode: StartExitCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
  }
}
