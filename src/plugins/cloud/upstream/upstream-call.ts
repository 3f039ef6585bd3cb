/** What every call upstream is told by its caller. */
export type UpstreamCall = {
  /** Milliseconds since the epoch, by the clock of the `Upstream`; nothing is waited for past it. */
  readonly deadline: number
  readonly signal?: AbortSignal | undefined
  /** Ends the tries: no further request is begun, and nothing is waited for between two. What was sent is. */
  readonly giveUp?: AbortSignal | undefined
  /** Sent as `client-request-id`, and so found in the upstream's own logs. */
  readonly correlationId: string
}
