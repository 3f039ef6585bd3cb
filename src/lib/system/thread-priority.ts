import { setPriority } from 'node:os'

/**
 * Lowers the priority of this thread: 10 leaves another thread that is as busy 9 times its share of a processor, 15
 * leaves it 28 times. On Linux, each thread has a priority of its own; elsewhere it would be that of the process, so
 * nothing happens.
 */
export function yieldToOthers(niceness: number): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(niceness)
  } catch {
    // a sandbox forbids it: the thread has the priority of the others
  }
}
