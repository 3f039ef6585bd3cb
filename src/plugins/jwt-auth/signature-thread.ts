import type { KeyObject } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import { type SignatureCheck, verifyHere } from './schemes.ts'
import type { SignatureBatch, SignatureReply } from './signature-worker.ts'

/**
 * A thread that verifies several signatures at a time (signature-worker.ts). It is started when it is needed
 * first. If it ends, it is not replaced: then this thread verifies.
 */
export class SignatureThread implements AsyncDisposable {
  #worker: Worker | undefined
  #isReady = false
  /** Of the calls that wait, in the order in which the thread answers. */
  readonly #answers: ((verified: readonly boolean[] | undefined) => void)[] = []

  /** Whether `verify` may be called. */
  get isReady(): boolean {
    return this.#isReady
  }

  start(): void {
    if (this.#worker !== undefined) return
    const worker = new Worker(new URL('./signature-worker.ts', import.meta.url), { name: 'signatures' })
    this.#worker = worker
    worker.on('message', (reply: SignatureReply) => {
      if (reply === 'ready') this.#isReady = true
      else this.#answers.shift()?.(reply)
    })
    // after the listener, which would keep the process again
    worker.unref()
    const ended = () => {
      this.#isReady = false
      for (const answer of this.#answers.splice(0)) answer(undefined)
    }
    worker.on('error', ended)
    worker.on('exit', ended)
  }

  /** Whether each check succeeds. Several servers in one process may call it at the same time. */
  async verify(checks: readonly SignatureCheck[]): Promise<readonly boolean[]> {
    const verified = await new Promise<readonly boolean[] | undefined>((resolve) => {
      this.#answers.push(resolve)
      const batch = batchOf(checks)
      this.#worker?.postMessage(batch, [batch.bytes.buffer])
    })
    return verified ?? checks.map(verifyHere)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker?.terminate()
  }
}

function batchOf(checks: readonly SignatureCheck[]): SignatureBatch & { bytes: Uint8Array<ArrayBuffer> } {
  let size = 0
  for (const { signingInput, signature } of checks) size += signingInput.length + signature.length
  const bytes = new Uint8Array(size)
  const keys: KeyObject[] = []
  let at = 0
  const put = (part: Uint8Array) => {
    bytes.set(part, at)
    at += part.length
    return part.length
  }
  return {
    keys,
    checks: checks.map(({ algorithm, key, signingInput, signature }) => {
      if (!keys.includes(key)) keys.push(key)
      return {
        algorithm,
        key: keys.indexOf(key),
        inputBytes: put(signingInput),
        signatureBytes: put(signature),
      }
    }),
    bytes,
  }
}
