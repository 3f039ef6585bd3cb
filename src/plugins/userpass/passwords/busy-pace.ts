import { performance } from 'node:perf_hooks'
import type { HashingPace } from './hashing-queue.ts'

/** Above this utilization of the event loop, other requests could use the time that hashes take. */
const busyUtilization = 0.8
/** On a machine without an idle processor, a hash may take a second. */
const longestPauseMs = 200

/** While the event loop is busy, each hash is followed by a pause as long as itself. docs/limits.md#passwords */
export const busyPace: HashingPace = () => {
  const startedAt = performance.now()
  const before = performance.eventLoopUtilization()
  return () => {
    const { utilization } = performance.eventLoopUtilization(before)
    return utilization < busyUtilization ? 0 : Math.min(performance.now() - startedAt, longestPauseMs)
  }
}
