import { isSea } from 'node:sea'
import type { Worker } from 'node:worker_threads'

const threads = new Set<Worker>()
/** System calls of the thread pool that may never return: of the resolver, and on files. */
const inThreadPool = /^(?:Get(?:Addr|Name)Info|FSReq)/

/** Declares that a system call of this thread may never return, as on a hung network disk. */
export function mayBlock(thread: Worker): void {
  threads.add(thread)
  thread.once('exit', () => threads.delete(thread))
}

/**
 * Ends the process with `process.exitCode`. `process.exit` waits for threads that are in a system call, and
 * nothing interrupts those: a name server that never answers, or a hung disk, would keep the process alive. A new
 * program in its place ends them. It is this one again, because an image holds no other.
 */
export function endProcess(): never {
  const mayWait = threads.size > 0 || process.getActiveResourcesInfo().some((name) => inThreadPool.test(name))
  if (mayWait && process.platform !== 'win32') replaceProcess(String(process.exitCode ?? 0))
  process.exit()
}

/** Returns only if that is impossible. */
function replaceProcess(exitCode: string): void {
  const ending = isSea() ? ['--exit', exitCode] : ['--eval', `process.exit(${exitCode})`]
  try {
    process.execve?.(process.execPath, [process.execPath, ...ending], {})
  } catch {
    // its file is gone
  }
}
