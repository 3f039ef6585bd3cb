import type { UpstreamError, UpstreamOperation } from './upstream-error.ts'


/**
 * What an error means for the step it happened in:
 * `retry`: not yet replicated, will pass; `done`: what was asked for is so already; `gone`: what the request names does not exist there;
 * `denied`: a right is missing; `limit`: a quota or a number of passwords is reached; `credential`: the root credential is not accepted;
 * `throttled`: too many requests; `final`: anything else.
 */
export type ErrorClass = {
  readonly kind: 'retry' | 'done' | 'gone' | 'denied' | 'limit' | 'credential' | 'throttled' | 'final'
  /** With `denied`: what to grant. */
  readonly permission?: string
}

export declare function classify(error: UpstreamError, step?: UpstreamOperation): ErrorClass
