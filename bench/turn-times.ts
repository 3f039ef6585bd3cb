import { appendFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

/**
 * Loaded into a server before its program: notes in a file how much processor time the main thread used between
 * two looks, if it was long. A look comes each millisecond, but not before the current turn of the event loop ends.
 */
const [everyMs, notedMs] = [1, 3]
const file = process.env['BENCH_TURNS_FILE']
if (isMainThread && file !== undefined) {
  let [before, at] = [process.threadCpuUsage(), performance.now()]
  setInterval(() => {
    const { user, system } = process.threadCpuUsage(before)
    // the kernel adds up processor time every few milliseconds: some of it belongs to turns before
    const usedMs = Math.min((user + system) / 1000, performance.now() - at)
    if (usedMs > notedMs) appendFileSync(file, `${usedMs}\n`)
    before = process.threadCpuUsage()
    at = performance.now()
  }, everyMs).unref()
}
