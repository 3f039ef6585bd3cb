import { appendFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

/**
 * Loaded into a server before its program: notes in a file how much processor time the main thread used between
 * two looks, if it was long. A look comes each millisecond, but not before the current turn of the event loop ends.
 */
const [everyMs, notedMs] = [1, 3]
const file = process.env['BENCH_TURNS_FILE']
if (isMainThread && file !== undefined) {
  let before = process.threadCpuUsage()
  setInterval(() => {
    const { user, system } = process.threadCpuUsage(before)
    const usedMs = (user + system) / 1000
    if (usedMs > notedMs) appendFileSync(file, `${usedMs}\n`)
    before = process.threadCpuUsage()
  }, everyMs).unref()
}
