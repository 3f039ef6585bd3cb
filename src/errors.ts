/** Why a request failed, in the core's terms; `http/error-reply.ts` alone knows the statuses. */
export type ErrorKind =
  | 'invalid'
  | 'denied'
  | 'missing'
  | 'unsupported'
  | 'too-large'
  | 'unsupported-media'
  | 'throttled'
  | 'internal'
  | 'upstream'
  | 'sealed'
  | 'unavailable'
  | 'overloaded'

export type ServiceErrorOptions = ErrorOptions & {
  /** True when something failed (the text goes out as a list of causes on authenticated paths), false when a handler refused. docs/contract/http.md#errors */
  wrapped?: boolean
  /** Stable word for logs, audit and metrics. docs/explain.md#reasons. Never part of the answer. */
  reason?: string
  /** The cause in words for the operator: in the log and in `failures`. Never part of the answer to the caller. */
  operatorText?: string | undefined
  /** When another try makes sense, where that is known. */
  retryAfterSeconds?: number | undefined
}

/** A failure the caller is told about. Anything else thrown is a bug and answers 500 without detail. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly kind: ErrorKind
  readonly wrapped: boolean
  readonly reason: string | undefined
  readonly operatorText: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(kind: ErrorKind, message: string, options: ServiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.kind = kind
    this.wrapped = options.wrapped ?? false
    this.reason = options.reason
    this.operatorText = options.operatorText
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}

/** Several causes as one text, in the form clients match. docs/contract/http.md#errors, `M(x)`. */
export function causeList(...causes: string[]): string {
  const head = causes.length === 1 ? '1 error occurred:' : `${causes.length} errors occurred:`
  return `${head}\n${causes.map((cause) => `\t* ${cause}\n`).join('')}\n`
}

/** A handler's refusal: bare text. */
export const refuse = (kind: ErrorKind, message: string, options: ServiceErrorOptions = {}) => new ServiceError(kind, message, options)

/** Something failed: the text goes out wrapped on authenticated paths. */
export const fail = (kind: ErrorKind, message: string, options: ServiceErrorOptions = {}) =>
  new ServiceError(kind, message, { ...options, wrapped: true })

/**
 * Why the server does not start: its process prints the text and ends with the code. docs/settings.md: 2 setting, 3 held, 4 too new, 5 seal key;
 * 1 is a store that is damaged where nothing works without it.
 */
export class StartError extends Error {
  override readonly name = 'StartError'
  readonly exitCode: 1 | 2 | 3 | 4 | 5

  constructor(exitCode: 1 | 2 | 3 | 4 | 5, message: string, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
  }
}
