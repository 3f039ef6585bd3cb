import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { type CertificateContent, makeSelfSigned } from './self-signed.ts'

/* A thread that makes RSA keys and their certificates, one at a time. certificate-thread.ts starts it. */

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
parentPort?.on('message', (content: CertificateContent) => {
  parentPort?.postMessage(makeSelfSigned(content))
})
