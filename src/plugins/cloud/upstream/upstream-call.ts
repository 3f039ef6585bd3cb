import type { UpstreamError } from './upstream-error.ts'

/** The context of a call upstream. */
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
