import { createPublicKey } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Algorithm, supportedAlgorithms } from '../../../src/plugins/jwt-auth/algorithms.ts'
import { parseJws } from '../../../src/plugins/jwt-auth/jws.ts'
import type { SignatureCheck } from '../../../src/plugins/jwt-auth/schemes.ts'
import { SignatureThread } from '../../../src/plugins/jwt-auth/signature-thread.ts'
import { aSigner, type Signer } from './signer.ts'

async function aReadyThread(): Promise<SignatureThread> {
  const thread = new SignatureThread()
  thread.start()
  while (!thread.isReady) await nextTurn()
  return thread
}

const signers = supportedAlgorithms.map((algorithm) => ({ algorithm, signer: aSigner(algorithm) }))

function checkOf(signer: Signer, algorithm: Algorithm): SignatureCheck {
  const jws = parseJws(signer.sign({ sub: 'a' }), { maxTokenSize: 0 })
  if ('malformed' in jws) throw new Error(jws.malformed)
  const { signingInput, signature } = jws
  return { algorithm, key: createPublicKey(signer.pem), signingInput, signature }
}

test('the thread verifies signatures of every algorithm, each with its own key', async () => {
  await using thread = await aReadyThread()
  const checks = signers.map(({ algorithm, signer }) => checkOf(signer, algorithm))
  const forged = checks.map((check) => ({ ...check, signingInput: Buffer.from('another text') }))

  expect(await thread.verify([...checks, ...forged])).toEqual([
    ...checks.map(() => true),
    ...forged.map(() => false),
  ])
})

test('the thread refuses a signature that is valid for another key of the batch', async () => {
  await using thread = await aReadyThread()
  const [first, second] = [aSigner('ES256'), aSigner('ES256')].map((signer) => checkOf(signer, 'ES256'))
  if (first === undefined || second === undefined) throw new Error('two signers')

  const swapped = [
    { ...first, key: second.key },
    { ...second, key: first.key },
  ]

  expect(await thread.verify([first, ...swapped, second])).toEqual([true, false, false, true])
})

test('the thread gives each of several callers their own results', async () => {
  await using thread = await aReadyThread()
  const valid = checkOf(aSigner('ES256'), 'ES256')
  const forged = { ...valid, signingInput: Buffer.from('another text') }

  const results = await Promise.all(
    [[forged], [valid, forged], [forged, valid]].map((one) => thread.verify(one)),
  )

  expect(results).toEqual([[false], [true, false], [false, true]])
})

test('a thread that ends leaves no check without a result, and is not used any more', async () => {
  const thread = await aReadyThread()
  const valid = checkOf(aSigner('ES256'), 'ES256')
  const forged = { ...valid, signingInput: Buffer.from('another text') }

  const verified = thread.verify([valid, forged])
  await thread[Symbol.asyncDispose]()

  expect(await verified).toEqual([true, false])
  expect(thread.isReady).toBe(false)
})
