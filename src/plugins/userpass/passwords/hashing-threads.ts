import { refuse } from '../../../errors.ts'
import { Thread } from '../../../lib/concurrency/thread.ts'
import type { HashingAnswers } from './hashing-worker.ts'

/**
 * Threads that compute hashes, and take only the time that nobody else needs: docs/limits.md#passwords. The servers of a
 * process share them, and limit how many hashes they compute at once.
 */
export const hashingThreads = new Thread<HashingAnswers>({
  program: new URL('./hashing-worker.ts', import.meta.url),
  name: 'passwords',
  niceness: 15,
  most: 8,
  limits: { most: 1_000, ms: 60_000, refusal: () => refuse('overloaded', 'passwords take too long') },
})
