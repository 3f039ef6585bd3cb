import { expect, test } from 'vitest'
import { CheckQueue } from '../../../src/jwt/jws/check-queue.ts'
import { type Keyset, StaticKeyset } from '../../../src/jwt/keys/keyset.ts'
import { KnownTokens } from '../../../src/jwt/keys/known-tokens.ts'
import { parsePublicKeyPem } from '../../../src/jwt/keys/public-key-pem.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { aSigner } from './signer.ts'

const client = '192.0.2.1'
const signer = aSigner('ES256', { kid: 'one' })
const token = signer.sign({ sub: 'a', iat: 1_700_000_000, big: 12 })

/** Known tokens, and keys that tell how often they have verified one. */
function openKnown() {
  const clock = new FakeClock()
  const known = new KnownTokens(clock)
  const ask = async (keys: Keyset & { readonly asked: number }, sent = token) => {
    const before = keys.asked
    const result = await known.verify(sent, client, keys)
    return ['reason' in result ? result.reason : result, keys.asked - before]
  }
  return { clock, keys: keysOf(clock), ask }
}

class CountingKeyset extends StaticKeyset {
  asked = 0

  override verify(sent: string, from: string): ReturnType<StaticKeyset['verify']> {
    this.asked += 1
    return super.verify(sent, from)
  }
}

const keysOf = (clock: FakeClock) =>
  new CountingKeyset([parsePublicKeyPem(signer.pem)], {
    clock,
    queue: new CheckQueue(64),
    limits: { maxTokenSize: 512 * 1024 },
  })

const verifiedOf = (claims: object) => expect.objectContaining({ claims, algorithm: 'ES256', type: 'JWT' })

test.each([
  { claims: { sub: 'a', list: [1, { b: null }] } },
  { claims: { text: '\ud83d\ude00 "\\', nested: { empty: {} } } },
  { claims: {} },
])('a token that was verified is read again without its checks: $claims', async ({ claims }) => {
  const { keys, ask } = openKnown()
  const sent = signer.sign(claims)
  const [first, asked] = await ask(keys, sent)

  expect([first, asked]).toEqual([verifiedOf(claims), 1])
  expect(await ask(keys, sent)).toEqual([first, 0])
})

test('what needs care is read with the same care again', async () => {
  const { keys, ask } = openKnown()
  const sent = signer.sign('{"id":9007199254740993,"lone":"\\ud800","__proto__":{"x":1}}')
  const [first] = await ask(keys, sent)

  expect(await ask(keys, sent)).toEqual([first, 0])
  expect(first).toMatchObject({ claims: { id: 9_007_199_254_740_993n, lone: '\ufffd' } })
})

test('claims that a login changes are as they were the next time', async () => {
  const { clock } = openKnown()
  const known = new KnownTokens(clock)
  const keys = keysOf(clock)
  for (let count = 0; count < 3; count += 1) {
    const result = await known.verify(token, client, keys)
    if ('reason' in result) throw new Error(result.text)
    expect(result.claims['sub']).toBe('a')
    result.claims['sub'] = 'b'
  }
})

test('a payload of null is no claims, each time', async () => {
  const { keys, ask } = openKnown()
  const sent = signer.sign('null')

  expect(await ask(keys, sent)).toEqual([verifiedOf({}), 1])
  expect(await ask(keys, sent)).toEqual([verifiedOf({}), 0])
})

test('another token, other keys and a refused token are verified', async () => {
  const { keys, ask, clock } = openKnown()
  await ask(keys)
  const again = keysOf(clock)

  expect((await ask(keys, signer.sign({ sub: 'a' })))[1]).toBe(1)
  expect((await ask(again))[1]).toBe(1)
  const forged = `${token.slice(0, -4)}AAAA`
  for (let count = 0; count < 2; count += 1) expect(await ask(keys, forged)).toEqual(['signature_invalid', 1])
  const list = signer.sign('[]')
  for (let count = 0; count < 2; count += 1) expect(await ask(keys, list)).toEqual(['token_malformed', 1])
})

test('it is forgotten after an hour', async () => {
  const { keys, ask, clock } = openKnown()
  await ask(keys)
  clock.advance(3599)
  expect((await ask(keys))[1]).toBe(0)
  clock.advance(3601)

  expect((await ask(keys))[1]).toBe(1)
})

test('a token over 16 KiB is verified each time', async () => {
  const { keys, ask } = openKnown()
  const long = signer.sign({ long: 'a'.repeat(16 * 1024) })

  for (let count = 0; count < 2; count += 1) expect((await ask(keys, long))[1]).toBe(1)
})

test.each([
  ['before it', ` ${token}`],
  ['in its header', `${token.slice(0, 5)} ${token.slice(5)}`],
  ['in its claims', token.replace('.', '.\n')],
  ['before its last dot', token.replace(/\.(?=[^.]*$)/, ' .')],
  ['in its signature', `${token.slice(0, -5)}\t${token.slice(-5)}`],
])('a token with white space %s has the same signed text each time', async (_where, sent) => {
  const { keys, ask } = openKnown()
  const signedText = token.slice(0, token.lastIndexOf('.'))

  for (let count = 0; count < 3; count += 1)
    expect((await ask(keys, sent))[0]).toMatchObject({ signedText, claims: { sub: 'a' } })
})
