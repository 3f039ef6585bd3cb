import type { UpstreamOperation } from './permissions.ts'
import type { Refusal } from './sign-in-refusals.ts'

export type { UpstreamOperation }

export type UpstreamService = 'login' | 'directory' | 'resource-manager' | 'metadata'

/** Our codes for a host without a metadata service, for one that is there but silent, and for its refusal. */
export const noMetadata = 'no_managed_identity'
export const silentMetadata = 'silent_metadata'
export const refusedIdentity = 'managed_identity'
/** The login service does not find the key of an assertion among the published ones. */
export const unpublishedKey = 'AADSTS7000272'

export type UpstreamFailure = {
  readonly service: UpstreamService
  readonly operation: UpstreamOperation
  /** 0 if there was no answer. */
  readonly status: number
  /** Such as `Request_ResourceNotFound` or `AADSTS7000215`; ours if there was no usable answer. */
  readonly code: string
  /** The service's text, shortened and cleaned. */
  readonly text: string
  /** The codes in `details`, which are more specific than the outer code. */
  readonly details?: readonly string[]
  readonly retryAfterMs?: number | undefined
  readonly requestId?: string | undefined
  /** A request that must not be repeated got no answer and may have taken effect: look before repeating it. */
  readonly lost?: boolean
  /** An earlier try of the same call may have taken effect. */
  readonly inDoubt?: boolean
  /** The permissions of the token, after a refusal by the directory. */
  readonly granted?: readonly string[] | undefined
  /** Instead of `<code>: <text>`. */
  readonly message?: string
  /** Why a sign-in was refused, and the command that repairs it. */
  readonly remedy?: Refusal | undefined
  readonly cause?: unknown
}

/** The message, `<code>: <text>`, is fit for callers: it has no secret and no token. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError'
  readonly service: UpstreamService
  readonly operation: UpstreamOperation
  readonly status: number
  readonly code: string
  readonly text: string
  readonly details: readonly string[]
  readonly retryAfterMs: number | undefined
  readonly requestId: string | undefined
  readonly lost: boolean
  readonly inDoubt: boolean
  readonly granted: readonly string[] | undefined
  readonly remedy: Refusal | undefined

  constructor(failure: UpstreamFailure) {
    const message = failure.message ?? [failure.code, failure.text].filter((part) => part !== '').join(': ')
    super(message, failure.cause === undefined ? undefined : { cause: failure.cause })
    this.service = failure.service
    this.operation = failure.operation
    this.status = failure.status
    this.code = failure.code
    this.text = failure.text
    this.details = failure.details ?? []
    this.retryAfterMs = failure.retryAfterMs
    this.requestId = failure.requestId
    this.lost = failure.lost ?? false
    this.inDoubt = failure.inDoubt ?? false
    this.granted = failure.granted
    this.remedy = failure.remedy
  }

  /** A failure with a code of ours, before or without an answer. */
  static of(
    { service, operation }: Pick<UpstreamFailure, 'service' | 'operation'>,
    code: string,
    text: string,
  ): UpstreamError {
    return new UpstreamError({ service, operation, status: 0, code, text })
  }

  /** The same failure, with more or other properties. */
  with(change: Partial<UpstreamFailure>): UpstreamError {
    return new UpstreamError({ ...this, message: this.message, cause: this.cause, ...change })
  }
}

export type UpstreamCall = {
  /** Milliseconds since the epoch, by the clock of the `Upstream`. No wait exceeds it. */
  readonly deadline: number
  readonly signal?: AbortSignal | undefined
  /** Stops retries: no further request is sent, but an answer to one that was sent is awaited. */
  readonly giveUp?: AbortSignal | undefined
  /** Sent as `client-request-id`, which appears in the logs upstream. */
  readonly correlationId: string
  /** Called with the failure of each try that is repeated. */
  readonly onRetry?: ((failure: UpstreamError) => void) | undefined
}
