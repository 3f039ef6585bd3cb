import { openSync } from 'node:fs'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { endProcess, mayBlock } from '../../../src/lib/system/end-process.ts'

/** Ends while a thread waits for the writer of a FIFO, which nobody will be. */
if (isMainThread) {
  const thread = new Worker(new URL(import.meta.url), { workerData: process.argv[2] })
  mayBlock(thread)
  await new Promise((resolve) => thread.once('message', resolve))
  process.exitCode = 6
  endProcess()
} else {
  parentPort?.postMessage('opening')
  openSync(String(workerData), 'r')
}
