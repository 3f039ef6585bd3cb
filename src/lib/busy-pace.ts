import { performance } from 'node:perf_hooks'

/** Below this utilization of the event loop, work on a thread takes nobody's time; above the other, it always does. */
const [idleUtilization, busyUtilization] = [0.3, 0.7]

/**
 * Called when a thread begins a piece of work. The function that it returns is called when that has ended, and says
 * for how many milliseconds the thread rests.
 */
export type Pace = () => () => number

export type Rest = {
  /** How many times as long as the work, while the event loop is busy. */
  readonly timesWork: number
  /** However slow the work is, so that it never stops. */
  readonly longestMs: number
}

/** The busier the event loop is, the longer is the rest after each piece of work. docs/limits.md */
export const busyPace =
  (rest: Rest): Pace =>
  () => {
    const startedAt = performance.now()
    const before = performance.eventLoopUtilization()
    return () =>
      restMs(rest, performance.now() - startedAt, performance.eventLoopUtilization(before).utilization)
  }

/** How long a thread rests after so long a piece of work, at this utilization of the event loop. */
export function restMs({ timesWork, longestMs }: Rest, workMs: number, utilization: number): number {
  const share = (utilization - idleUtilization) / (busyUtilization - idleUtilization)
  return Math.min(Math.min(Math.max(share, 0), 1) * timesWork * workMs, longestMs)
}
