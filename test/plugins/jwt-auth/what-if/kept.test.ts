import { describe, expect, test } from 'vitest'
import { LoginHistory, mostSubjects, type NotedLogin } from '../../../../src/jwt/history/login-history.ts'
import type { WhatIf } from '../../../../src/jwt/history/what-if.ts'
import { systemRandom } from '../../../../src/lib/system/random.ts'
import { JwtMethod } from '../../../../src/plugins/jwt-auth/method.ts'
import { StorageFaults } from '../../../../src/storage/faults.ts'
import type { Client } from '../../../support/client.ts'
import { openCoreView } from '../../../support/core-view.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { jwtDeskOn, openJwtDesk } from '../../../support/jwt-desk.ts'
import { testOfOneServer } from '../../../support/of-one-server.ts'
import { openTestCore } from '../../../support/open-core.ts'
import { shared } from '../../../support/shared.ts'
import { quietLog, startTestServer } from '../../../support/start-server.ts'
import { logIn as browserLogin, startSmallProvider, withFlow } from '../oidc/small-provider.ts'
import { reportOf } from './report.ts'

const hour = 3600
const day = 86_400

// two hours later is the same day: an entity keeps the day of its last login
const atNoon = (time: number) => new Date(time).setUTCHours(12, 0, 0, 0)
const clock = new FakeClock(atNoon(Date.now()))
const now = () => clock.now()
const ofFile = shared(() => startTestServer({ clock }))

/** Begins at noon, with new mounts; with faults, on a server of its own. */
async function openDesk(faults?: StorageFaults) {
  clock.advance((atNoon(now() + day * 1000) - now()) / 1000)
  const desk = await (faults === undefined ? newDesk() : openJwtDesk({ faults, clock, now }))
  const login = (claims: Record<string, unknown> = {}, fields: Record<string, unknown> = { role: 'dev' }) =>
    desk.anonymous.write('auth/jwt/login', { jwt: desk.jwt(claims), ...fields })
  return { ...desk, clock, login, [Symbol.asyncDispose]: () => desk[Symbol.asyncDispose]() }
}

async function newDesk() {
  const server = await ofFile()
  for (const path of ['sys/auth/jwt', 'sys/mounts/kv']) await server.root.delete(path)
  await server.root.write('sys/auth/jwt', { type: 'jwt' })
  return { ...(await jwtDeskOn(server, now)), [Symbol.asyncDispose]: async () => {} }
}

/** Everybody who logged in: nobody has this audience. */
const everybody = async (root: Client, mount = 'auth/jwt', role = 'dev'): Promise<WhatIf> =>
  reportOf(
    await root.write(`${mount}/role/${role}/what-if`, {
      role_type: 'jwt',
      user_claim: 'sub',
      bound_audiences: ['nobody'],
    }),
  )

const secondsOf = ({ losers: [first] }: WhatIf): number => Date.parse(first?.last_login_at ?? '') / 1000

test('an unchanged login is counted, and written once an hour', async () => {
  await using desk = await openDesk()
  await desk.login()
  desk.clock.advance(hour / 2)
  await desk.login()
  await desk.login()

  const within = await everybody(desk.root)
  desk.clock.advance(hour)
  await desk.login()
  const later = await everybody(desk.root)

  expect(within.losers[0]?.logins).toBe(1)
  expect(later.losers[0]?.logins).toBe(4)
  expect(secondsOf(later) - secondsOf(within)).toBe(1.5 * hour)
})

test('a login with other values is written at once: the last one counts', async () => {
  await using desk = await openDesk()
  await desk.role('dev', { bound_claims: { team: ['a', 'b'] } })
  await desk.login({ team: 'a' })
  await desk.login({ team: 'b' })

  const { body } = await desk.root.write('auth/jwt/role/dev/what-if', {
    role_type: 'jwt',
    bound_claims: { team: 'a' },
  })

  expect(body.data).toMatchObject({ subjects: 1, lose: 1, losers: [{ seen: 'b', logins: 2 }] })
})

test('each role remembers its own logins, and a refused login is none', async () => {
  await using desk = await openDesk()
  await desk.role('other')
  await desk.login()
  await desk.login({ sub: 'ann' }, { role: 'other' })
  await desk.login({ aud: 'elsewhere' })

  expect((await everybody(desk.root)).subjects).toBe(1)
  expect((await everybody(desk.root, 'auth/jwt', 'other')).subjects).toBe(1)
})

test('a value that no role names is seen as a hash, and no answer has it in clear', async () => {
  await using desk = await openDesk()
  await desk.role('dev', { bound_claims: { team: '*' }, bound_claims_type: 'glob' })
  await desk.login({ team: 'secret-team' })
  const hash = await desk.root.write('auth/jwt/failures/hash', { input: 'secret-team' })

  const answer = await desk.root.write('auth/jwt/role/dev/what-if', {
    role_type: 'jwt',
    bound_claims: { team: 'x' },
  })

  expect(reportOf(answer).losers[0]?.seen).toBe(hash.body.data?.['hash'])
  expect(answer.text).not.toContain('secret-team')
})

test('a request that carries a changed login writes it once a minute at most', async () => {
  await using desk = await openDesk()
  await desk.role('dev', { bound_claims: { team: ['a', 'b'] } })
  const carried = (team: string) => desk.ask('kv/x', desk.head({ jwt: desk.jwt({ team }) }))
  const seen = async () => (await everybody(desk.root)).losers[0]
  const outcomes = [await carried('a'), await carried('b')]
  const within = await seen()
  desk.clock.advance(61)
  await carried('b')

  expect(outcomes.map(({ status }) => status)).toEqual([200, 200])
  expect(within?.logins).toBe(1)
  expect((await seen())?.logins).toBe(3)
})

testOfOneServer(
  'a request that carries its login is served although its login cannot be remembered',
  async () => {
    const faults = new StorageFaults()
    await using desk = await openDesk(faults)
    await desk.ask('kv/x')
    desk.clock.advance(2 * hour)

    faults.arm('storage.before-commit', 'full')
    const full = await desk.ask('kv/x')
    faults.disarm('storage.before-commit')

    expect([full.status, (await everybody(desk.root)).losers[0]?.logins]).toEqual([200, 1])
    await desk.ask('kv/x')
    expect((await everybody(desk.root)).losers[0]?.logins).toBe(2)
  },
)

test('the sweep of logins deletes what a mount shall not remember', async () => {
  await using core = await openTestCore({
    clock: new FakeClock(),
    defaultMounts: [{ table: 'auth', path: 'jwt', type: 'jwt' }],
  })
  const { mounts } = core
  const parts = {
    maxJwtSize: 0,
    failuresKept: 0,
    keepsSignatures: true,
    log: quietLog,
    onFetch: () => {},
    onKeyAlert: () => {},
  }
  const method = new JwtMethod({ ...core, ...parts })
  const mount = mounts.table.all().find(({ plugin }) => plugin === 'jwt')
  if (mount === undefined) throw new Error('there is no mount')
  const view = mounts.viewOf(mount)
  const key = 'logins/role/r/s'
  await view.write([{ key, value: { subject: 's', last: Date.now(), values: {} } }])

  await method.sweep()
  const kept = await view.listKeys('logins/')
  await mounts.tune(
    { table: 'auth', namespace: 'root', path: 'auth/jwt/' },
    { options: { history_days: '0' } },
  )
  await method.sweep()

  expect([kept, await view.listKeys('logins/')]).toEqual([[key], []])
})

describe('history_days', () => {
  test.each([
    { options: {}, days: 30 },
    { options: { history_days: '7' }, days: 7 },
    { options: { history_days: '90' }, days: 90 },
    { options: { history_days: '91' }, days: 30 },
    { options: { history_days: 'x' }, days: 30 },
  ])('logins are remembered for $days days with $options', async ({ options, days }) => {
    await using desk = await openDesk()
    await desk.root.write('sys/auth/jwt/tune', { options })
    await desk.login()

    desk.clock.advance(days * day - 1)
    const before = await everybody(desk.root)
    desk.clock.advance(2)
    const after = await everybody(desk.root)

    expect([before.history_days, before.subjects, after.subjects]).toEqual([days, 1, 0])
  })

  test('a tune says that a value does not count', async () => {
    await using desk = await openDesk()

    const wrong = await desk.root.write('sys/auth/jwt/tune', { options: { history_days: '91' } })
    const right = await desk.root.write('sys/auth/jwt/tune', { options: { history_days: '9' } })

    expect(wrong.body.warnings).toEqual(["'history_days' is not a number from 0 to 90: 30 counts"])
    expect(right.status).toBe(204)
  })

  test('0 remembers nothing, and shows nothing of what was remembered', async () => {
    await using desk = await openDesk()
    await desk.login()
    await desk.root.write('sys/auth/jwt/tune', { options: { history_days: '0' } })
    await desk.login({ sub: 'ann' })
    const without = await everybody(desk.root)
    await desk.root.write('sys/auth/jwt/tune', { options: { history_days: '30' } })
    await desk.login({ sub: 'bob' })

    expect(without).toMatchObject({ history_days: 0, subjects: 0 })
    expect((await everybody(desk.root)).subjects).toBe(2)
  })
})

test('a login by a JWT as token, by a CEL role and in a browser is remembered too', async () => {
  await using desk = await openDesk()
  const config = { bound_issuer: 'https://ci.example.com', accept_as_token: true, default_role: 'dev' }
  await desk.configure(config)
  await desk.root.write('auth/jwt/cel/role/prog', {
    cel_program: { expression: "pb.Auth{alias: logical.Alias{name: claims.sub}, policies: ['desk']}" },
  })
  await desk.as(desk.jwt()).read('kv/x')
  await desk.anonymous.write('auth/jwt/cel/login', { role: 'prog', jwt: desk.jwt() })
  await using provider = await startSmallProvider()
  await using flow = await withFlow(provider)
  expect((await browserLogin(flow, provider)).status).toBe(200)

  const asToken = await desk.root.write('auth/jwt/config/what-if', {
    ...keysOf(desk),
    ...config,
    accept_as_token: false,
  })
  const otherIssuer = await desk.root.write('auth/jwt/config/what-if', {
    ...keysOf(desk),
    ...config,
    bound_issuer: 'https://x',
  })
  const browser = await flow.root.write('auth/oidc/role/test/what-if', {
    allowed_redirect_uris: ['https://example.com/oidc/callback'],
    bound_audiences: ['nobody'],
  })

  expect(asToken.body.data).toMatchObject({
    subjects: 2,
    succeed: 1,
    lose: 1,
    losers: [{ role: 'dev', check: 'issuer' }],
  })
  expect(otherIssuer.body.data).toMatchObject({ subjects: 2, lose: 2 })
  expect(reportOf(otherIssuer).losers.map(({ role }) => role)).toEqual(['cel/prog', 'dev'])
  expect(browser.body.data).toMatchObject({
    subjects: 1,
    lose: 1,
    losers: [{ path: 'oidc/callback', check: 'audience' }],
  })
})

const keysOf = (desk: { readonly pem: string }) => ({ jwt_validation_pubkeys: [desk.pem] })

test('what is remembered moves with the mount, and ends with it', async () => {
  await using desk = await openDesk()
  await desk.login()

  await desk.root.write('sys/remount', { from: 'auth/jwt', to: 'auth/moved' })
  const moved = async () => (await everybody(desk.root, 'auth/moved')).subjects
  await expect.poll(async () => (await desk.root.read('auth/moved/role/dev')).status).toBe(200)
  const kept = await moved()
  await desk.root.delete('sys/auth/moved')
  await desk.root.write('sys/auth/moved', { type: 'jwt' })
  await desk.root.write('auth/moved/config', keysOf(desk))

  expect([kept, await moved()]).toEqual([1, 0])
})

test('a batch token and a token with a limited number of uses leave the same memory', async () => {
  await using desk = await openDesk()
  await desk.role('dev', { token_type: 'batch' })
  await desk.login()
  await desk.role('uses', { token_num_uses: 3 })
  await desk.login({}, { role: 'uses' })

  expect((await everybody(desk.root)).subjects).toBe(1)
  expect((await everybody(desk.root, 'auth/jwt', 'uses')).subjects).toBe(1)
})

describe('the bound', () => {
  const aLogin = (subject: string): NotedLogin => ({
    role: 'r',
    subject,
    sameAs: '',
    path: 'login',
    asToken: false,
    byDefault: false,
    address: '127.0.0.1',
    remember: () => ({
      issuer: '',
      audiences: null,
      names: [],
      values: {},
      algorithm: '',
      keyId: '',
      matched: {},
    }),
  })

  async function openHistory() {
    const core = await openCoreView()
    const history = new LoginHistory({ view: core.view, random: systemRandom, clock: core.clock })
    const log = async (subject: string) => {
      const memory = history.note(aLogin(subject), 30)
      const entries = (await memory?.entries({ entityId: '', isNew: true, isCarried: false })) ?? []
      await core.barrier.view('').write(entries)
      memory?.written()
      return entries.length
    }
    const count = async (days = 30) => {
      let found = 0
      for await (const page of history.logins(days)) found += page.length
      return found
    }
    return { ...core, history, log, count, [Symbol.asyncDispose]: () => core[Symbol.asyncDispose]() }
  }

  test('beyond 10,000 subjects of a mount the oldest go', async () => {
    await using opened = await openHistory()
    const { history, log, count, clock } = opened
    await log('oldest')
    clock.advance(1)
    for (let at = 0; at < mostSubjects; at += 1) await log(`s${at}`)

    await history.tidyAdded(30)

    expect(await count()).toBe(mostSubjects)
    clock.advance(2 * hour)
    expect(await log('s0')).toBe(1)
    await history.tidyAdded(30)
    expect(await count()).toBe(mostSubjects)
  }, 60_000)

  test('a few new subjects wait for the hour, and what is too old goes with it', async () => {
    await using opened = await openHistory()
    const { history, log, count, clock } = opened
    await log('a')
    clock.advance(2 * day)
    await log('b')

    await history.tidyAdded(1)
    const before = await count()
    await history.tidyDue(1)

    expect([before, await count()]).toEqual([2, 1])
  })

  test('a record that cannot be read hides no other one', async () => {
    await using opened = await openHistory()
    const { history, log, count, view, clock } = opened
    for (const subject of ['a', 'b', 'c']) await log(subject)
    const [first = ''] = await view.listKeys('logins/')
    await view.write([{ key: first, value: 'damaged' }])

    expect(await count()).toBe(2)
    clock.advance(2 * day)
    await history.tidyDue(1)
    expect(await view.listKeys('logins/')).toEqual([first])
  })

  test('with 0 days everything is deleted', async () => {
    await using opened = await openHistory()
    const { history, log, count } = opened
    await log('a')

    await history.tidyDue(0)

    expect(await count()).toBe(0)
    expect(await log('a')).toBe(1)
  })
})
