import { performance } from 'node:perf_hooks'
import { collector } from './lib/garbage.ts'

const intervalMs = 1000
/** Event loop utilization below which the server is idle, so that no request waits for a collection. */
const idleUtilization = 0.05
/**
 * Idle time before a collection. A collection drops compiled code, whose compilation takes a second of CPU
 * time.
 */
const minIdleSeconds = 10
/** With less active time than this, there is little compiled code, so one idle second is enough. */
const warmUpMs = 3000
/** Memory growth since the last collection that justifies another one. */
const minGrowthBytes = 48 * 1024 * 1024
/** A collection that frees this much is followed by another one, which often returns the memory. */
const repeatBytes = 16 * 1024 * 1024
/** Above this heap size, a collection would take too long, and the memory is in use anyway. */
const maxHeapBytes = 256 * 1024 * 1024

/** Returns memory to the operating system after a burst; V8 alone would keep it. */
export function returnMemoryWhenIdle(): void {
  let bytesAfter = 0
  let idleSeconds = 0
  let before = performance.eventLoopUtilization()
  setInterval(() => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    idleSeconds = utilization > idleUtilization ? 0 : idleSeconds + 1
    if (idleSeconds < (now.active < warmUpMs ? 1 : minIdleSeconds)) return
    const { rss, heapTotal } = process.memoryUsage()
    if (rss < bytesAfter + minGrowthBytes || heapTotal > maxHeapBytes) return
    collector()({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    const left = process.memoryUsage.rss()
    bytesAfter = rss - left < repeatBytes ? left : 0
    before = performance.eventLoopUtilization()
  }, intervalMs).unref()
}
