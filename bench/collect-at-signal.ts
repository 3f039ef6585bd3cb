import { isMainThread } from 'node:worker_threads'

/** Loaded into a server that runs with `--expose-gc` and whose memory is measured: SIGUSR2 has it collect garbage. */
if (isMainThread)
  process.on('SIGUSR2', () => globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' }))
