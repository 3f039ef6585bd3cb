import type { Worker } from 'node:worker_threads'

const threads = new Set<Worker>()

/** Declares that a system call of this thread may never return, as on a hung network disk. */
export function mayBlock(thread: Worker): void {
  threads.add(thread)
  thread.once('exit', () => threads.delete(thread))
}

/** Whether one of these threads has not ended. `process.exit` waits for it, perhaps for ever. */
export const isThreadLeft = (): boolean => threads.size > 0
