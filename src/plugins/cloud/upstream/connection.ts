import type { Agent } from 'node:https'
import {
  AnswerTooLargeError,
  DeniedAddressError,
  type OutboundClient,
  OutboundError,
} from '../../../core/outbound/outbound.ts'
import type { Clock } from '../../../lib/system/clock.ts'
import { clean, failureOf, type RequestKind, type UpstreamAnswer } from './answer.ts'
import { cancelled, deadlineExceeded, noAnswer } from './retry.ts'
import { type UpstreamCall, UpstreamError } from './upstream-error.ts'

export type UpstreamRequest = RequestKind & {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
}

const attemptMs = 20_000
const maxBytes = 4 * 1024 ** 2

/** Connection failures that occur before any of the request is sent. */
const beforeSending =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_|ENETUNREACH|EHOSTUNREACH|EADDRNOTAVAIL|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_)/
/** Those among them that a retry would meet again. */
const lasting = /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_)/

/**
 * Through `core/outbound/outbound.ts`, with denied networks and the proxy. At most 20 s, by the deadline, and 4 MiB;
 * no redirects. The caller must have checked the host. docs/contract/cloud.md#transport
 */
export class UpstreamConnection {
  readonly #outbound: OutboundClient
  readonly #clock: Clock
  readonly #caPem: string | undefined
  #agent: Agent | undefined
  clockOffsetMs: number | undefined

  constructor(parts: { outbound: OutboundClient; clock: Clock }, caPem: string | undefined) {
    this.#outbound = parts.outbound
    this.#clock = parts.clock
    this.#caPem = caPem
  }

  /** Returns successful answers only. Throws `UpstreamError`. */
  async send(request: UpstreamRequest, call: UpstreamCall): Promise<UpstreamAnswer> {
    const { method, url, headers, body } = request
    const remaining = call.deadline - this.#clock.now()
    if (call.signal?.aborted === true || call.giveUp?.aborted === true)
      throw UpstreamError.of(request, cancelled, 'context canceled')
    if (remaining <= 0) throw UpstreamError.of(request, deadlineExceeded, 'context deadline exceeded')
    this.#agent ??= this.#outbound.connections(this.#caPem)
    const answer = await this.#outbound
      .exchange({
        service: request.service,
        method,
        url,
        headers,
        body,
        agent: this.#agent,
        timeoutMs: Math.min(attemptMs, remaining),
        maxBytes,
        signal: call.signal,
      })
      .catch((error: unknown) => {
        throw connectionFailure(request, error, this.#clock.now() >= call.deadline)
      })
    const now = this.#clock.now()
    this.#measureClock(answer.headers.date, now)
    if (answer.status < 200 || answer.status > 299) throw failureOf(request, answer, now)
    return answer
  }

  #measureClock(date: string | undefined, now: number): void {
    const theirs = Date.parse(date ?? '')
    if (!Number.isNaN(theirs)) this.clockOffsetMs = theirs - now
  }
}

function connectionFailure(
  { service, operation, repeatable }: RequestKind,
  error: unknown,
  isLate: boolean,
): UpstreamError {
  const cause = error instanceof OutboundError ? error.cause : error
  const code = codeOf(cause)
  const isUnsent = cause instanceof DeniedAddressError || beforeSending.test(code)
  return new UpstreamError({
    service,
    operation,
    status: 0,
    code: wordFor(cause, code),
    text: [
      clean(error instanceof Error ? error.message : 'failed'),
      ...(isLate ? ['context deadline exceeded'] : []),
    ].join(': '),
    lost: !repeatable && !isUnsent,
    cause: error,
  })
}

function wordFor(cause: unknown, code: string): string {
  if (cause instanceof AnswerTooLargeError) return 'answer_too_large'
  return cause instanceof DeniedAddressError || lasting.test(code) ? 'no_connection' : noAnswer
}

/** If several addresses were tried, the code of the first. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}
