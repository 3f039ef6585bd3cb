import { performance } from 'node:perf_hooks'

/** Above this utilization of the event loop, other requests could use the time that work on a thread takes. */
const busyUtilization = 0.8

/**
 * Called when a thread begins a piece of work. The function that it returns is called when that has ended, and says
 * for how many milliseconds the thread rests.
 */
export type Pace = () => () => number

/**
 * While the event loop is busy, each piece of work is followed by a pause as long as itself, but not longer than
 * this. docs/limits.md
 */
export const busyPace =
  (longestPauseMs: number): Pace =>
  () => {
    const startedAt = performance.now()
    const before = performance.eventLoopUtilization()
    return () => {
      const { utilization } = performance.eventLoopUtilization(before)
      return utilization < busyUtilization ? 0 : Math.min(performance.now() - startedAt, longestPauseMs)
    }
  }
