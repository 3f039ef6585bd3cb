import type { IncomingHttpHeaders } from 'node:http'

/** What a trace shows of a request. */
type TracedRequest = {
  readonly method: string
  readonly route: string
  readonly status: number
  readonly mount: string
  readonly namespace: string
  readonly requestId: string
  readonly reason: string
}

/** The span of a request. */
export type RequestSpan = {
  /** Runs the work of the request, whose spans become parts of this one. */
  run<T>(work: () => T): T
  end(request: TracedRequest): void
}

/** Traces requests. docs/monitoring.md#traces */
export type RequestTracing = {
  /** Continues the trace of the client, if its headers name one. Undefined if this request is not traced. */
  begin(headers: IncomingHttpHeaders): RequestSpan | undefined
}
