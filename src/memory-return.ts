import { performance } from 'node:perf_hooks'

const intervalMs = 1000
/** Share of a second in which the event loop had work: below this nobody waits for the pause a collection makes. */
const idleShare = 0.05
/** A shorter rest is not worth what follows: about a second of CPU until the code that the collection drops is compiled anew. */
const restSeconds = 10
/** A server that has worked less, in milliseconds, has no such code yet: what starting has left goes at its first rest. */
const freshMs = 3000
/** Growth since the last collection, in bytes, that is worth one. */
const worthBytes = 48 * 1024 * 1024
/** A collection that gave back so much is followed by another: what one gives up is often free only after the next. */
const muchBytes = 16 * 1024 * 1024
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
  let idleSeconds = 0
  let before = performance.eventLoopUtilization()
  setInterval(() => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    idleSeconds = utilization > idleShare ? 0 : idleSeconds + 1
    if (idleSeconds < (now.active < freshMs ? 1 : restSeconds)) return
    const { rss, heapTotal } = process.memoryUsage()
    if (rss < bytesAfter + worthBytes || heapTotal > mostHeapBytes) return
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    const left = process.memoryUsage.rss()
    bytesAfter = rss - left < muchBytes ? left : 0
    before = performance.eventLoopUtilization()
  }, intervalMs).unref()
}
