import type { Worker } from 'node:worker_threads'

const threads = new Set<Worker>()

/** Declares that a system call of this thread may never return, as on a hung network disk. */
export function mayBlock(thread: Worker): void {
  threads.add(thread)
  thread.once('exit', () => threads.delete(thread))
}

/**
 * Ends the process with `process.exitCode`, as `process.exit` does. That waits for every thread, so a blocked
 * one would keep the process alive; replacing the program ends it.
 */
export function exitProcess(): never {
  if (threads.size > 0 && process.platform !== 'win32' && process.execve !== undefined)
    process.execve(process.execPath, [process.execPath, '-e', `process.exit(${process.exitCode ?? 0})`], {})
  process.exit()
}
