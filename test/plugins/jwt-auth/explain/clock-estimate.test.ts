import { describe, expect, test } from 'vitest'
import { IssuedTimes } from '../../../../src/jwt/keys/clock-offset.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { shared } from '../../../support/shared.ts'
import { startTestServer } from '../../../support/start-server.ts'
import { jwksOf, startProvider } from '../provider.ts'
import { aSigner } from '../signer.ts'
import { checksOf } from './checks.ts'

const signer = aSigner('ES256', { kid: 'a' })
const role = { role_type: 'jwt', user_claim: 'sub', bound_subject: 'bob' }

const ofFile = shared(async () => {
  const clock = new FakeClock()
  return Object.assign(await startTestServer({ clock }), { clock })
})
let mounts = 0

/** A new mount whose provider sends no `Date`, or one with its own key. */
async function startFixture({ hasKey = false, sendsDate = false, headers = {} } = {}) {
  const provider = await startProvider({
    '/keys': (answer) => {
      answer.sendDate = sendsDate
      answer
        .writeHead(200, { 'content-type': 'application/json', ...headers })
        .end(JSON.stringify(jwksOf(signer)))
    },
  })
  const { root, anonymous, clock } = await ofFile()
  // a Date header has the time of the machine
  clock.advance((Date.now() - clock.now()) / 1000)
  const mount = `auth/jwt${++mounts}`
  await root.write(`sys/${mount}`, { type: 'jwt' })
  await root.write(
    `${mount}/config`,
    hasKey ? { jwt_validation_pubkeys: [signer.pem] } : { jwks_url: `${provider.url}/keys` },
  )
  await root.write(`${mount}/role/ci`, role)
  /** A token that its issuer created `age` seconds ago, by a clock that is `ahead`. */
  const token = ({ age = 0, ahead = 0, lifetime = 300 }) => {
    const iat = Math.floor(clock.now() / 1000) + ahead - age
    return signer.sign({ sub: 'bob', iat, exp: iat + lifetime })
  }
  return {
    clock,
    token,
    logIn: async (made: Parameters<typeof token>[0]) =>
      (await anonymous.write(`${mount}/login`, { role: 'ci', jwt: token(made) })).status,
    explain: async (made: Parameters<typeof token>[0]) =>
      (await root.write(`${mount}/explain`, { role: 'ci', jwt: token(made) })).body.data,
    source: async () => (await root.read(`${mount}/status`)).body.data?.['sources']?.['0'],
    [Symbol.asyncDispose]: () => provider.stop(),
  }
}

describe('the offset of a clock whose provider sends no Date', () => {
  test.each([
    { name: 'the same', ahead: 0 },
    { name: 'ten minutes ahead', ahead: 600 },
    { name: 'ten minutes behind', ahead: -600 },
  ])('is estimated from fresh tokens, and marked: $name', async ({ ahead }) => {
    await using fixture = await startFixture()
    expect(await fixture.source()).toMatchObject({
      clock_offset_seconds: null,
      clock_offset_estimated: false,
    })

    await fixture.logIn({ ahead })

    expect(await fixture.source()).toMatchObject({
      clock_offset_seconds: ahead,
      clock_offset_estimated: true,
    })
    expect(await fixture.explain({ ahead })).toMatchObject({
      clock: { offset_seconds: ahead, estimated: true, source: expect.stringMatching(/^http:/) },
    })
  })

  test('is estimated for keys in the configuration too', async () => {
    await using fixture = await startFixture({ hasKey: true })

    expect(await fixture.explain({ ahead: 600 })).toMatchObject({
      reason: 'not_yet_valid',
      clock: { offset_seconds: 600, estimated: true, source: '' },
      report: expect.stringMatching(/^clock +the issuer is at least 600 s ahead of this server$/m),
    })
  })

  test('a clock that is ahead immediately explains a token from the future', async () => {
    await using fixture = await startFixture()

    const times = checksOf(await fixture.explain({ ahead: 600 })).find(({ name }) => name === 'times')
    expect(times).toMatchObject({ verdict: 'fail', hint: 'clock_offset' })
  })

  test('one old token says nothing about a clock, but several equally fresh ones do', async () => {
    await using fixture = await startFixture()
    const expectHint = async (hint: string, made: { age?: number; ahead?: number }) => {
      const times = checksOf(await fixture.explain(made)).find(({ name }) => name === 'times')
      expect(times).toMatchObject({ verdict: 'fail', reason: 'expired', hint })
    }

    await expectHint('', { age: 3600 })
    for (let count = 0; count < 3; count++) {
      fixture.clock.advance(60)
      expect(await fixture.logIn({ ahead: -3000 })).toBe(400)
    }
    await expectHint('clock_offset', { ahead: -3000 })
  })

  test.each([
    { name: 'that is still valid', lifetime: 2 * 86_400, status: 200 },
    { name: 'that has expired', lifetime: 300, status: 400 },
  ])('a token from yesterday $name is no measurement, nor are several', async ({ lifetime, status }) => {
    await using fixture = await startFixture()

    for (let count = 0; count < 3; count++) {
      expect(await fixture.logIn({ age: 80_000, lifetime })).toBe(status)
      fixture.clock.advance(1)
    }

    expect(await fixture.source()).toMatchObject({
      clock_offset_seconds: null,
      clock_offset_estimated: false,
    })
    const explained = await fixture.explain({ age: 80_000, lifetime })
    expect(explained).toMatchObject({ clock: null, report: expect.not.stringMatching(/clock /) })
  })

  test('a Date that a cache has kept is no measurement', async () => {
    await using fixture = await startFixture({
      headers: { date: new Date(Date.now() - 86_400_000).toUTCString(), age: '86400' },
    })

    expect(await fixture.logIn({ age: 30 })).toBe(200)

    expect(await fixture.source()).toMatchObject({ clock_offset_seconds: -30, clock_offset_estimated: true })
  })

  test('a Date header takes precedence over tokens', async () => {
    await using fixture = await startFixture({ sendsDate: true })

    await fixture.logIn({ age: 120 })

    expect(await fixture.source()).toMatchObject({ clock_offset_estimated: false })
    expect(Math.abs(Number((await fixture.source())?.['clock_offset_seconds']))).toBeLessThan(60)
  })
})

describe('the freshest token of the last ten minutes decides', () => {
  const now = Date.UTC(2026, 0, 2)
  const noted = (...tokens: { iat: unknown; at?: number }[]) => {
    const times = new IssuedTimes()
    for (const { iat, at = 0 } of tokens)
      times.note(typeof iat === 'number' ? now / 1000 + iat : iat, now + at * 1000)
    return times.estimate
  }

  test.each([
    {
      name: 'the fresher of two',
      tokens: [{ iat: -30 }, { iat: -3 }, { iat: -400 }],
      seconds: -3,
      isCertain: false,
    },
    {
      name: 'the same token again counts once',
      tokens: [{ iat: -30 }, { iat: -30, at: 1 }, { iat: -30, at: 2 }],
      seconds: -30,
      isCertain: false,
    },
    {
      name: 'three that agree',
      tokens: [{ iat: -30 }, { iat: -29, at: 1 }, { iat: -28, at: 2 }],
      seconds: -30,
      isCertain: true,
    },
    { name: 'one from the future', tokens: [{ iat: 90 }], seconds: 90, isCertain: true },
    {
      name: 'an older one counts no more',
      tokens: [{ iat: 90 }, { iat: 590, at: 600 }],
      seconds: -10,
      isCertain: false,
    },
  ])('$name', ({ tokens, seconds, isCertain }) => {
    expect(noted(...tokens)).toMatchObject({ seconds, isEstimate: true, isCertain })
  })

  test.each([
    undefined,
    null,
    '1700000000',
    Number.NaN,
    Number.POSITIVE_INFINITY,
    10n,
    1e300,
    -1e300,
    86_401,
    -3_601,
  ])('an iat of %s is ignored', (iat) => {
    expect(noted({ iat })).toBeUndefined()
  })

  test('only a few of many tokens are kept', () => {
    const times = new IssuedTimes()
    for (let at = 0; at < 10_000; at++) times.note(now / 1000 + at, now + at * 10)
    expect(times.estimate?.seconds).toBe(9_900)
  })
})
