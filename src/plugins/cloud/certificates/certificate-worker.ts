import { parentPort } from 'node:worker_threads'
import { yieldToOthers } from '../../../lib/thread-priority.ts'
import { type CertificateContent, makeSelfSigned } from './self-signed.ts'

/* A thread that makes RSA keys and their certificates, one at a time. certificate-thread.ts starts it. */

const niceness = 15

yieldToOthers(niceness)
parentPort?.on('message', (content: CertificateContent) => {
  parentPort?.postMessage(makeSelfSigned(content))
})
