import type { Worker } from 'node:worker_threads'

const threads = new Set<Worker>()

/** Declares that a system call of this thread may never return, as on a hung network disk. */
export function mayBlock(thread: Worker): void {
  threads.add(thread)
  thread.once('exit', () => threads.delete(thread))
}

/**
 * Ends the process with `process.exitCode`. `process.exit` waits for threads that are in the system's resolver
 * or in another system call, and nothing interrupts those: a name server that never answers, or a hung disk,
 * would keep the process alive. A new program in its place ends them.
 */
export function endProcess(): never {
  const isResolving = process.getActiveResourcesInfo().includes('GetAddrInfoReqWrap')
  if ((isResolving || threads.size > 0) && process.platform !== 'win32')
    process.execve?.('/bin/sh', ['sh', '-c', `exit ${process.exitCode ?? 0}`])
  process.exit()
}
