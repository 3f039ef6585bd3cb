import { performance } from 'node:perf_hooks'

const intervalMs = 1000
/** Share of a second in which the event loop had work: below this nobody waits for the pause a collection makes. */
const idleShare = 0.05
/** Growth since the last collection, in bytes, that is worth one. */
const worthBytes = 16 * 1024 * 1024
/** Above this a collection takes too long, and the memory is in use anyway. */
const mostHeapBytes = 256 * 1024 * 1024

/**
 * Gives memory back to the system once a burst is over: the engine itself keeps for good what a flood of large bodies once made it take. Only in a
 * process started with `--expose-gc`; in any other nothing happens.
 */
export function returnMemoryWhenIdle(): void {
  const collect = globalThis.gc
  if (collect === undefined) return
  let bytesAfter = 0
  let before = performance.eventLoopUtilization()
  setInterval(() => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    const { rss, heapTotal } = process.memoryUsage()
    if (utilization > idleShare || rss < bytesAfter + worthBytes || heapTotal > mostHeapBytes) return
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    const left = process.memoryUsage.rss()
    // what the last one gave up is often free only after the next
    bytesAfter = rss - left < worthBytes ? left : 0
    before = performance.eventLoopUtilization()
  }, intervalMs).unref()
}
