import { isMainThread } from 'node:worker_threads'
import { collector } from '../src/lib/garbage.ts'

/** Loaded into a server whose memory is measured: SIGUSR2 has it collect garbage. */
if (isMainThread)
  process.on('SIGUSR2', () => collector()({ type: 'major', execution: 'sync', flavor: 'last-resort' }))
