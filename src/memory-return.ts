import { performance } from 'node:perf_hooks'

const intervalMs = 1000
/**
 * Event loop utilisation of a second below which the server counts as idle, so that no request waits for a
 * collection.
 */
const idleShare = 0.05
/**
 * Idle time before a collection. A collection drops compiled code, which costs about a second of CPU to
 * compile again.
 */
const restSeconds = 10
/**
 * A server with less active time, in milliseconds, has no such code yet and collects at its first idle time.
 */
const freshMs = 3000
/** Growth in bytes since the last collection that justifies another one. */
const worthBytes = 48 * 1024 * 1024
/**
 * After freeing this many bytes, another collection follows, because memory is often returned only by the
 * next one.
 */
const muchBytes = 16 * 1024 * 1024
/** Above this heap size a collection takes too long, and the memory is in use anyway. */
const mostHeapBytes = 256 * 1024 * 1024

/**
 * Returns memory to the operating system after a burst; V8 alone would keep it. No-op unless the process was
 * started with `--expose-gc`.
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
