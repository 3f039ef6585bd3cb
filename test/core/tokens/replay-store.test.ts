import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { openBarrier } from '../../../src/core/barrier/barrier.ts'
import { IdentityStore } from '../../../src/core/identity/entities/identity-store.ts'
import { issueLogin, type LoginAuth, planLogin } from '../../../src/core/tokens/acts/issue-login.ts'
import { ReplayStore } from '../../../src/core/tokens/store/replay-store.ts'
import { TokenStore } from '../../../src/core/tokens/store/token-store.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'
import { openSqlite } from '../../../src/storage/sqlite/sqlite.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { aLogin, jwtMount, openGroups, openTokenFixture, otherJwtMount } from '../../support/token-fixture.ts'

const proof = { of: 'issuer\0id', endsAt: 1_800_000_000_000 }
const used = 'error validating token: token has been used already'
const prefixes = ['proof/spent/', 'proof/end/']

/** `ok`, or the text of the refusal. */
const outcome = (login: Promise<unknown>): Promise<string> =>
  login.then(
    () => 'ok',
    (error: unknown) => (error instanceof Error ? error.message : 'failed'),
  )

test.each(['service', 'batch'])(
  'a proof is spent with the %s token it yields, only at its mount',
  async (tokenType) => {
    await using fixture = await openTokenFixture()
    const go = (changes: Partial<LoginAuth> = {}, mount = jwtMount) =>
      outcome(fixture.login({ tokenType, proof, ...changes }, mount))

    expect(await go()).toBe('ok')
    expect(await go()).toBe(used)
    expect(await go({ alias: { name: 'bob', metadata: {} } })).toBe(used)
    expect(await go({ proof: { ...proof, of: 'issuer\0other' } })).toBe('ok')
    expect(await go({}, { ...otherJwtMount, uuid: 'uuid-2' })).toBe('ok')
    expect(await go({ ...aLogin(), tokenType })).toBe(used)
    expect(await outcome(fixture.login({ tokenType }))).toBe('ok')
  },
)

test('a refused login spends nothing', async () => {
  await using fixture = await openTokenFixture()

  expect(await outcome(fixture.login({ proof, policies: ['root'] }))).toBe(
    'auth methods cannot create root tokens',
  )
  expect(await outcome(fixture.login({ proof, alias: { name: '', metadata: {} } }))).toBe(
    'missing name in alias',
  )
  expect(await outcome(fixture.login({ proof }))).toBe('ok')
})

test('a plan spends nothing, and knows which proofs are spent', async () => {
  await using fixture = await openTokenFixture()
  const plan = () =>
    outcome(
      planLogin(fixture.parts, {
        mount: jwtMount,
        path: 'auth/jwt/login',
        remoteAddress: '127.0.0.1',
        auth: aLogin({ proof }),
      }),
    )

  expect(await plan()).toBe('ok')
  expect(await plan()).toBe('ok')
  await fixture.login({ proof })
  expect(await plan()).toBe(used)
})

test.each([
  { tokenType: 'service', known: true },
  { tokenType: 'service', known: false },
  { tokenType: 'batch', known: true },
  { tokenType: 'batch', known: false },
])('of 64 concurrent uses one wins: $tokenType, known name: $known', async ({ tokenType, known }) => {
  await using fixture = await openTokenFixture()
  if (known) await fixture.login()

  const outcomes = await Promise.all(
    Array.from({ length: 64 }, () => outcome(fixture.login({ tokenType, proof }))),
  )

  expect(outcomes.filter((one) => one === 'ok')).toHaveLength(1)
  expect(outcomes.filter((one) => one === used)).toHaveLength(63)
})

test('of two servers on one storage one wins, and both know after a restart', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('store.db')
  const sealKey = randomBytes(32)
  const clock = new FakeClock()
  const serve = async (storage: Awaited<ReturnType<typeof openSqlite>>) => {
    const barrier = await openBarrier({
      storage,
      sealKey,
      clock,
      random: systemRandom,
      log: { error: () => {} },
    })
    const parts = {
      view: barrier.view('core/'),
      clock,
      random: systemRandom,
      sealer: barrier,
      mountOf: () => jwtMount,
    }
    const stores = {
      spent: await ReplayStore.open(parts),
      tokens: await TokenStore.open(parts),
      identity: await IdentityStore.open({ ...parts, memberships: await openGroups(parts) }),
    }
    const all = { ...parts, ...stores, systemTtl: { defaultTtl: 3600, maxTtl: 3600 } }
    return (of: string) =>
      outcome(
        issueLogin(all, {
          mount: jwtMount,
          path: 'auth/jwt/login',
          remoteAddress: '127.0.0.1',
          auth: aLogin({ proof: { ...proof, of } }),
        }),
      )
  }
  const many = <T>(work: () => Promise<T>) => Promise.all(Array.from({ length: 32 }, work))
  {
    await using storage = await openSqlite({ path })
    const [one, other] = [await serve(storage), await serve(storage)]
    for (const name of ['a\0a', 'b\0b', 'c\0c']) {
      const outcomes = (await Promise.all([many(() => one(name)), many(() => other(name))])).flat()
      expect(outcomes.filter((text) => text === 'ok')).toHaveLength(1)
      expect(outcomes.filter((text) => text === used)).toHaveLength(63)
    }
  }
  await using storage = await openSqlite({ path })
  expect(await (await serve(storage))('a\0a')).toBe(used)
  expect(await (await serve(storage))('d\0d')).toBe('ok')
})

test('a proof is remembered until no role accepts it, plus a minute, and then nothing of it is left', async () => {
  await using fixture = await openTokenFixture()
  const { view, clock, parts } = fixture
  const left = async () => (await Promise.all(prefixes.map((prefix) => view.listKeys(prefix)))).flat().length
  const sweep = () => parts.spent.sweep(async () => 210_000)
  const now = clock.now()
  await fixture.login({ proof: { of: 'a', endsAt: now + 1000 } })
  await fixture.login({ proof: { of: 'b', endsAt: now + 2000 } })
  await fixture.login({ proof: { of: 'a', endsAt: now + 2000 } }, { ...otherJwtMount, uuid: 'uuid-2' })
  await fixture.login({ proof: { of: 'far', endsAt: 1e300 } })

  clock.advance(271)
  await sweep()
  expect(await left()).toBe(8)
  clock.advance(0.5)
  await sweep()
  expect(await left()).toBe(6)
  expect(await outcome(fixture.login({ proof: { of: 'b', endsAt: now + 2000 } }))).toBe(used)
  clock.advance(1)
  await sweep()
  expect(await left()).toBe(2)
  expect(await outcome(fixture.login({ proof: { of: 'far', endsAt: 1e300 } }))).toBe(used)
})

test('the tolerance is read only where a proof has expired, and each mount has its own', async () => {
  await using fixture = await openTokenFixture()
  const { view, clock, parts } = fixture
  const asked: string[] = []
  const tolerances: Record<string, number> = { 'uuid-1': 0, 'uuid-2': 3_600_000 }
  const sweep = () =>
    parts.spent.sweep(async (mount) => {
      asked.push(mount)
      return tolerances[mount] ?? 0
    })
  for (const mount of [jwtMount, { ...otherJwtMount, uuid: 'uuid-2' }])
    await fixture.login({ proof: { of: 'a', endsAt: clock.now() } }, mount)
  await fixture.login({ proof: { of: 'a', endsAt: clock.now() + 1e9 } }, { ...otherJwtMount, uuid: 'uuid-3' })

  await sweep()
  expect(asked).toEqual([])
  clock.advance(61)
  await sweep()
  expect(asked).toEqual(['uuid-1', 'uuid-2'])
  expect((await view.listKeys('proof/spent/')).map((key) => key.split('/')[2])).toEqual(['uuid-2', 'uuid-3'])
})

test('one sweep removes thousands of proofs', async () => {
  await using fixture = await openTokenFixture()
  const { view, clock, parts } = fixture
  const proofs = Array.from({ length: 2_500 }, (_, at) => ({ of: String(at), endsAt: clock.now() + at }))
  await view.write(proofs.flatMap((one) => parts.spent.entriesOf('uuid-1', one)))
  clock.advance(120)

  await parts.spent.sweep(async () => 0)

  expect((await Promise.all(prefixes.map((prefix) => view.listKeys(prefix)))).flat()).toEqual([])
})
