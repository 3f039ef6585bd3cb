import type { Clock } from '../../../lib/clock.ts'
import { classify } from './classification.ts'
import type { UpstreamCall } from './upstream-call.ts'
import { UpstreamError, type UpstreamOperation } from './upstream-error.ts'

/** How time passes; handed in, so that tests own it. */
export type Waiting = {
  readonly clock: Clock
  readonly pause: (milliseconds: number, signal?: AbortSignal) => Promise<void>
  readonly random: () => number
}

const transient: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504])
/** Where there was no answer: the one failure that is worth another try. */
export const noAnswer = 'no_answer'
/** Nothing was sent: the time was over before. */
export const deadlineExceeded = 'deadline_exceeded'
/** Nothing was sent: nobody wants it any longer. */
export const cancelled = 'cancelled'
const mostTries = 5
/** Throttling ends when it says so; the bound is against a service that never means it. */
const mostThrottledTries = 20
const longestPauseMs = 60_000
const shortestPauseMs = 200
const windowMs = 80_000

/**
 * How long to wait before the next try; undefined: there is none. Not for a lost answer, nor past a minute;
 * `Retry-After` is kept to exactly, otherwise 0.8 s, 2.4 s, 5.6 s, 12 s, each × 0.8–1.3.
 * docs/contract/cloud.md#transport.
 */
export function pauseBefore(error: UpstreamError, tries: number, random: number): number | undefined {
  const passes =
    transient.has(error.status) ||
    error.code === noAnswer ||
    error.code === 'unusable_answer' ||
    isConcurrency(error)
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

const isCancelled = ({ signal, giveUp }: UpstreamCall): boolean =>
  signal?.aborted === true || giveUp?.aborted === true

/** What ends a wait between two tries. */
function waitingSignal({ signal, giveUp }: UpstreamCall): AbortSignal | undefined {
  if (signal === undefined || giveUp === undefined) return signal ?? giveUp
  return AbortSignal.any([signal, giveUp])
}

const isConcurrency = ({ status, code }: UpstreamError): boolean =>
  status === 409 && code === 'Directory_ConcurrencyViolation'

/**
 * Tries `attempt` until it succeeds or its error is none to wait for; never waits past the deadline, but
 * fails early.
 */
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
      const error = inDoubt
        ? new UpstreamError({ ...failure, message: failure.message, cause: failure.cause, inDoubt })
        : failure
      // an error of another operation (its token) has had its tries
      if (error.operation !== operation) throw error
      const wait = pauseBefore(error, tries, random())
      if (wait === undefined || clock.now() + wait >= call.deadline || isCancelled(call)) throw error
      if (error.status !== 429 && !isConcurrency(error)) inDoubt = true
      await pause(wait, waitingSignal(call))
      if (isCancelled(call)) throw error
    }
  }
}

/** See `Upstream.untilReplicated`. Errors of other operations than `step` end it at once. */
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
      // cut off by the end of the time: what it may have done stays told, and why it was tried again
      if (last !== undefined && error instanceof UpstreamError && error.status === 0 && clock.now() >= end)
        throw new UpstreamError({
          ...error,
          message: endedText(last, 'context deadline exceeded'),
          cause: error,
        })
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

/** The last upstream message stays. */
const ended = (last: UpstreamError, why: string, cause: unknown): UpstreamError =>
  new UpstreamError({ ...last, message: endedText(last, why), cause })

const endedText = (last: UpstreamError, why: string): string => `retry failed: ${last.message}: ${why}`
