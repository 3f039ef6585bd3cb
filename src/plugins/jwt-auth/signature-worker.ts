import type { KeyObject } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import type { Algorithm } from './algorithms.ts'
import { verifyHere } from './schemes.ts'

/* A thread that verifies signatures, several with each message. signature-thread.ts starts it. */

/** What it is asked: each check, as positions in `keys` and lengths of its parts in `bytes`. */
export type SignatureBatch = {
  readonly keys: readonly KeyObject[]
  readonly checks: readonly {
    readonly algorithm: Algorithm
    readonly key: number
    readonly inputBytes: number
    readonly signatureBytes: number
  }[]
  /** The signing input and the signature of each check. */
  readonly bytes: Uint8Array
}

/** What it answers: whether each check succeeded. `ready` once, when it has started. */
export type SignatureReply = 'ready' | readonly boolean[]

parentPort?.on('message', ({ keys, checks, bytes }: SignatureBatch) => {
  let at = 0
  const take = (length: number) => {
    at += length
    return bytes.subarray(at - length, at)
  }
  const verified = checks.map(({ algorithm, key: keyAt, inputBytes, signatureBytes }) => {
    const key = keys[keyAt]
    const check = { algorithm, signingInput: take(inputBytes), signature: take(signatureBytes) }
    return key !== undefined && verifyHere({ ...check, key })
  })
  parentPort?.postMessage(verified satisfies SignatureReply)
})
parentPort?.postMessage('ready' satisfies SignatureReply)
