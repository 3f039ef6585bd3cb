import type { Clock } from '../../../lib/system/clock.ts'
import { classify } from './classification.ts'
import { type UpstreamCall, UpstreamError, type UpstreamOperation, unpublishedKey } from './upstream-error.ts'

export type Pause = (milliseconds: number, signal?: AbortSignal) => Promise<void>

/** Clock, pauses and randomness, replaced by tests. */
export type Waiting = { readonly clock: Clock; readonly pause: Pause; readonly random: () => number }

const transient: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504])
/** No answer came. The only connection failure that is worth a retry. */
export const noAnswer = 'no_answer'
/** Nothing was sent, because the deadline had passed. */
export const deadlineExceeded = 'deadline_exceeded'
/** Nothing was sent, because the call was cancelled. */
export const cancelled = 'cancelled'
const mostTries = 5
/** Throttling ends when the service says so. This limit is for services that never let it end. */
const mostThrottledTries = 20
const longestPauseMs = 60_000
const shortestPauseMs = 200
const windowMs = 80_000

/**
 * Undefined: no further try, after a lost answer or if the wait would exceed a minute. Waits as long as
 * `Retry-After` says, otherwise 0.8 s, 2.4 s, 5.6 s and 12 s, each × 0.8 to 1.3. docs/contract/cloud.md#transport
 */
export function pauseBefore(error: UpstreamError, tries: number, random: number): number | undefined {
  const slow = slowPauses.find((row) => row.is(error))
  if (slow !== undefined) return tries <= slow.times ? slow.pauseMs : undefined
  const passes =
    transient.has(error.status) ||
    error.code === noAnswer ||
    error.code === 'unusable_answer' ||
    isConcurrency(error) ||
    (error.service === 'metadata' && error.status === 404)
  if (!passes || error.lost) return undefined
  const announced = error.retryAfterMs
  if (tries >= (error.status === 429 && announced !== undefined ? mostThrottledTries : mostTries))
    return undefined
  const pause =
    announced === undefined
      ? 800 * (2 ** tries - 1) * (0.8 + random / 2)
      : Math.max(announced, shortestPauseMs)
  return pause > longestPauseMs ? undefined : Math.round(pause)
}

/** Failures that pass, but not soon. */
const slowPauses: readonly { is(error: UpstreamError): boolean; pauseMs: number; times: number }[] = [
  // the login service has not fetched a new signing key yet
  { is: ({ code }) => code === unpublishedKey, pauseMs: 5_000, times: 6 },
  // the metadata service is being updated, which takes up to 70 s
  { is: ({ service, status }) => service === 'metadata' && status === 410, pauseMs: 10_000, times: 7 },
]

const isCancelled = ({ signal, giveUp }: UpstreamCall): boolean =>
  signal?.aborted === true || giveUp?.aborted === true

function waitingSignal({ signal, giveUp }: UpstreamCall): AbortSignal | undefined {
  if (signal === undefined || giveUp === undefined) return signal ?? giveUp
  return AbortSignal.any([signal, giveUp])
}

const isConcurrency = ({ status, code }: UpstreamError): boolean =>
  status === 409 && code === 'Directory_ConcurrencyViolation'

/** Repeats `attempt` while its error is worth a retry. Fails early instead of waiting past the deadline. */
export async function withRetries<Result>(
  { clock, pause, random }: Waiting,
  call: UpstreamCall,
  operation: UpstreamOperation,
  attempt: () => Promise<Result>,
): Promise<Result> {
  let inDoubt = false
  for (let tries = 1; ; tries++) {
    try {
      return await attempt()
    } catch (failure) {
      if (!(failure instanceof UpstreamError)) throw failure
      const error = inDoubt ? failure.with({ inDoubt }) : failure
      // the request for a token failed, which had its own retries
      if (error.operation !== operation) throw error
      const wait = pauseBefore(error, tries, random())
      if (wait === undefined || clock.now() + wait >= call.deadline || isCancelled(call)) throw error
      if (error.status !== 429 && !isConcurrency(error)) inDoubt = true
      call.onRetry?.(error)
      await pause(wait, waitingSignal(call))
      if (isCancelled(call)) throw error
    }
  }
}

/** See `Upstream.untilReplicated`. An error of another operation than `step` is thrown at once. */
export async function untilReplicated<Result>(
  { clock, pause, random }: Waiting,
  step: UpstreamOperation,
  call: UpstreamCall,
  operation: (call: UpstreamCall) => Promise<Result>,
): Promise<Result> {
  const end = Math.min(call.deadline, clock.now() + windowMs)
  let last: UpstreamError | undefined
  for (;;) {
    try {
      return await operation({ ...call, deadline: end })
    } catch (error) {
      if (last !== undefined && error instanceof UpstreamError && error.code === deadlineExceeded)
        throw ended(last, 'context deadline exceeded', error)
      // cut off by the deadline: the error still says that the call may have taken effect, and why it was
      // repeated
      if (last !== undefined && error instanceof UpstreamError && error.status === 0 && clock.now() >= end)
        throw error.with({ message: endedText(last, 'context deadline exceeded'), cause: error })
      if (
        !(error instanceof UpstreamError) ||
        error.operation !== step ||
        classify(error, step).kind !== 'retry'
      )
        throw error
      last = error
      const seconds = 2 + Math.floor(random() * 6)
      await pause(Math.max(0, Math.min(seconds * 1000, end - clock.now())), waitingSignal(call))
      if (isCancelled(call)) throw ended(error, 'context canceled', call.signal?.reason)
      if (clock.now() >= end) throw ended(error, 'context deadline exceeded', error)
    }
  }
}

const ended = (last: UpstreamError, why: string, cause: unknown): UpstreamError =>
  last.with({ message: endedText(last, why), cause })

const endedText = (last: UpstreamError, why: string): string => `retry failed: ${last.message}: ${why}`
