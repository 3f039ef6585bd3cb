import { expect, test } from 'vitest'
import { KnownSignatures } from '../../../src/jwt/jws/known-signatures.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { newKeys } from './signer.ts'

const signed = (text: string, signature = 'valid') => ({
  signingInput: Buffer.from(text),
  signature: Buffer.from(signature),
})

/** A cache, and how often it has asked whether a key signed something. */
function openKnown() {
  const clock = new FakeClock()
  const known = new KnownSignatures(clock)
  const key = newKeys('ES256').publicKey
  let asked = 0
  const ask = async (what = signed('a'), by = key) => {
    const before = asked
    const verdict = await known.isSignedBy(by, what, async () => {
      asked += 1
      return what.signature.toString() === 'valid'
    })
    return [verdict, asked - before]
  }
  return { clock, key, ask }
}

test('a signature that was verified is not checked again', async () => {
  const { ask } = openKnown()

  expect([await ask(), await ask()]).toEqual([
    [true, 1],
    [true, 0],
  ])
})

test('another key, text or signature is checked, and so is one that was refused', async () => {
  const { ask } = openKnown()
  await ask()

  expect(await ask(signed('a'), newKeys('ES256').publicKey)).toEqual([true, 1])
  expect(await ask(signed('b'))).toEqual([true, 1])
  for (let count = 0; count < 2; count += 1) expect(await ask(signed('a', 'forged'))).toEqual([false, 1])
  expect(await ask(signed('av', 'alid'))).toEqual([false, 1])
})

test('it is forgotten after an hour', async () => {
  const { ask, clock } = openKnown()
  await ask()
  clock.advance(3599)
  expect(await ask()).toEqual([true, 0])
  clock.advance(3601)

  expect(await ask()).toEqual([true, 1])
})

test('texts over 16 KiB are checked each time', async () => {
  const { ask } = openKnown()
  const long = signed('a'.repeat(16 * 1024 + 1))

  expect([await ask(long), await ask(long)]).toEqual([
    [true, 1],
    [true, 1],
  ])
})
