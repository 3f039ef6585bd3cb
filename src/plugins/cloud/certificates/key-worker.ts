import { generateKeyPairSync } from 'node:crypto'
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'

/* A thread that makes RSA keys, one at a time. key-thread.ts starts it. */

const bits = 2048
/** Another thread that is as busy gets 28 times its share of a processor. */
const niceness = 15

/** On Linux, each thread has a priority of its own; elsewhere it would be that of the process. */
function yieldToOthers(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(niceness)
  } catch {
    // a sandbox forbids it: the thread has the priority of the others
  }
}

yieldToOthers()
parentPort?.on('message', () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: bits })
  parentPort?.postMessage(privateKey.export({ type: 'pkcs8', format: 'der' }))
})
