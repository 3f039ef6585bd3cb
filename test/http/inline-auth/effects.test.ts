import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import { inlineLogin, issuer, type JwtDesk, openJwtDesk, outcomeOf, written } from '../../support/jwt-desk.ts'
import { testOfOneServer } from '../../support/of-one-server.ts'

const denied = 'failed to perform inline authentication: permission denied'
const clock = new FakeClock()
let desk: JwtDesk
beforeAll(async () => {
  desk = await openJwtDesk({ clock, now: () => clock.now() })
})
afterAll(() => desk[Symbol.asyncDispose]())

const entities = async () => Number((await desk.root.list('identity/entity/id')).body.data?.keys?.length ?? 0)
const of = (claims: object, role = 'dev') => desk.head({ role, jwt: desk.jwt({ ...claims }) })

test('a login makes the entity, also when the request is then denied; a refused one makes none', async () => {
  const before = await entities()

  expect((await desk.ask('sys/mounts', of({ sub: 'new' }))).status).toBe(403)
  expect(await entities()).toBe(before + 1)
  expect((await desk.ask('kv/x', of({ sub: 'other', aud: 'nope' }))).status).toBe(400)
  expect(await entities()).toBe(before + 1)
})

test('external groups are refreshed each time', async () => {
  const { accessor } = (await desk.root.read('sys/auth/jwt')).body.data ?? {}
  const group = await written(desk.root, 'identity/group', { name: 'eng', type: 'external' })
  await written(desk.root, 'identity/group-alias', {
    name: 'eng',
    mount_accessor: accessor,
    canonical_id: group.body.data?.id,
  })
  await desk.role('groups', { groups_claim: 'groups' })
  const members = async (groups: string[]) => {
    await desk.ask('kv/x', of({ groups }, 'groups'))
    return (await desk.root.read('identity/group/name/eng')).body.data?.member_entity_ids
  }

  expect(await members(['eng'])).toHaveLength(1)
  expect(await members([])).toHaveLength(0)
})

test('a JWT may be sent with any number of requests, unless its role takes it once', async () => {
  await desk.role('once', { token_replay_protection: true })
  const often = of({})
  const once = of({ jti: '1' }, 'once')

  for (let count = 0; count < 3; count += 1) expect((await desk.ask('kv/x', often)).status).toBe(200)
  expect((await desk.ask('sys/mounts', once)).status).toBe(403)
  expect(outcomeOf(await desk.ask('kv/x', once))).toEqual([
    400,
    'error validating token: token has been used already',
    true,
  ])
})

test('a secret id is spent by a login that succeeded, also when the request is then denied', async () => {
  await written(desk.root, 'sys/auth/approle', { type: 'approle' })
  await written(desk.root, 'auth/approle/role/a', { token_policies: ['desk'], secret_id_num_uses: 1 })
  const { role_id } = (await desk.root.read('auth/approle/role/a/role-id')).body.data ?? {}
  const { secret_id } = (await desk.root.write('auth/approle/role/a/secret-id')).body.data ?? {}
  const head = inlineLogin('auth/approle/login', { role_id, secret_id })

  expect((await desk.ask('sys/mounts', head)).status).toBe(403)
  expect(outcomeOf(await desk.ask('kv/x', head))).toEqual([400, 'invalid role or secret ID', true])
})

test('refused logins lock the user out, also at the path of the login', async () => {
  await written(desk.root, 'sys/auth/userpass', { type: 'userpass' })
  await written(desk.root, 'auth/userpass/users/ann', { password: 'pw-of-ann', token_policies: ['desk'] })
  const ask = (password: string, name = 'ann') =>
    desk.ask('kv/x', inlineLogin(`auth/userpass/login/${name}`, { password }))

  expect((await ask('pw-of-ann')).status).toBe(200)
  expect((await ask('pw-of-ann', 'ANN')).status).toBe(200)
  for (let count = 0; count < 5; count += 1)
    expect(outcomeOf(await ask('no'))).toEqual([400, 'invalid username or password', true])
  expect(outcomeOf(await ask('pw-of-ann'))).toEqual([403, denied, true])
  expect((await desk.anonymous.write('auth/userpass/login/ann', { password: 'pw-of-ann' })).status).toBe(403)
})

describe('rate limits', () => {
  const limited = (path: string) => `request path "${path}": rate limit quota exceeded`
  const rule = (path: string, rate: number, more = {}) =>
    written(desk.root, 'sys/quotas/rate-limit/rule', { path, rate, interval: '10m', ...more })
  const statuses = async (times: number, head = () => of({})) => {
    const found: unknown[] = []
    for (let count = 0; count < times; count += 1) found.push((await desk.ask('kv/x', head())).status)
    return found
  }

  testOfOneServer('the login counts under the rule of its own path', async () => {
    await rule('auth/jwt', 2)

    expect(await statuses(2)).toEqual([200, 200])
    expect(outcomeOf(await desk.ask('kv/x'))).toEqual([429, limited('auth/jwt/login'), true])
  })

  testOfOneServer('rules for roles count too', async () => {
    await rule('auth/jwt', 1, { role: 'dev' })
    await desk.role('free')

    expect(await statuses(2)).toEqual([200, 429])
    expect(await statuses(2, () => of({}, 'free'))).toEqual([200, 200])
  })

  testOfOneServer('the request counts first, under the rule of its path', async () => {
    await rule('kv', 2)

    expect(await statuses(2, () => of({}, 'nope'))).toEqual([400, 400])
    expect(outcomeOf(await desk.ask('kv/x'))).toEqual([429, limited('kv/x'), false])
  })

  testOfOneServer('a rule that covers both counts once', async () => {
    await rule('', 3)
    try {
      expect(await statuses(4)).toEqual([200, 200, 200, 429])
    } finally {
      await desk.root.delete('sys/quotas/rate-limit/rule')
    }
  })
})

testOfOneServer('refused logins of an address count at the mount of the login', async () => {
  await using strict = await openJwtDesk({
    clock,
    now: () => clock.now(),
    settings: { LOGIN_FAILURES: '3/1m' },
  })
  const bad = strict.head({ jwt: strict.jwt({ aud: 'x' }) })

  for (let count = 0; count < 3; count += 1) expect((await strict.ask('kv/x', bad)).status).toBe(400)
  const answer = await strict.ask('kv/x')

  expect(outcomeOf(answer)).toEqual([429, 'request path "auth/jwt/login": rate limit quota exceeded', true])
  expect(answer.headers['retry-after']).toBe('60')
  const own = await strict.anonymous.write('auth/jwt/login', { role: 'dev', jwt: strict.jwt() })
  expect(own.status).toBe(429)
})

testOfOneServer('refused JWTs as tokens count there too', async () => {
  await using strict = await openJwtDesk({ settings: { LOGIN_FAILURES: '3/1m' } })
  await strict.configure({ accept_as_token: true, bound_issuer: issuer })
  const asked = async (claims: Record<string, unknown>) =>
    (await strict.ask('kv/x', { 'X-Vault-Token': strict.jwt(claims) })).status

  for (let count = 0; count < 3; count += 1) expect(await asked({ aud: 'x' })).toBe(403)

  expect(await asked({})).toBe(429)
  expect((await strict.root.read('kv/x')).status).toBe(200)
})
