import { pino } from 'pino'
import { expect, test } from 'vitest'
import { shared } from '../../support/shared.ts'
import { startUserpassServer } from './userpass-server.ts'

const server = shared(startUserpassServer)

test('a login names the user in token, entity and alias, in lower case', async () => {
  const { root, mount } = await server()
  const { path, login } = await mount({ token_policies: 'b,a', token_ttl: 600 })

  const { body } = await login('pw', 'BoB')
  const token = await root.write('auth/token/lookup', { token: body.auth?.client_token })
  const entity = await root.read(`identity/entity/id/${String(body.auth?.entity_id)}`)

  expect(body.auth).toMatchObject({
    metadata: { username: 'bob' },
    policies: ['a', 'b', 'default'],
    lease_duration: 600,
    renewable: true,
    token_type: 'service',
    orphan: true,
    num_uses: 0,
  })
  expect(token.body.data).toMatchObject({
    display_name: `${path.slice('auth/'.length)}-bob`,
    path: `${path}/login/BoB`,
  })
  expect(entity.body.data?.aliases).toMatchObject([{ name: 'bob', metadata: null }])
})

test('a wrong password and an unknown user get the same refusal', async () => {
  const { mount } = await server()
  const { login } = await mount()
  const refused = [
    await login('bad'),
    await login('PW'),
    await login('pw', 'no'),
    await login('x'.repeat(5000)),
  ]

  for (const { status, body } of refused) {
    expect(status).toBe(400)
    expect(body).toMatchObject({ errors: ['invalid username or password'] })
  }
})

test.each(['bob', 'no'])('a login of %s without a password says so', async (name) => {
  const { anonymous, mount } = await server()
  const { path } = await mount()
  const bodies = [{}, undefined, { password: '' }, { password: null }]

  const answers = []
  for (const body of bodies) answers.push(await anonymous.write(`${path}/login/${name}`, body))
  const wrongType = await anonymous.write(`${path}/login/${name}`, { password: ['pw'] })

  for (const { status, body } of answers) {
    expect(status).toBe(400)
    expect(body).toMatchObject({ errors: ['missing password'] })
  }
  expect(wrongType.status).toBe(400)
  expect(String(wrongType.body.errors)).toMatch(
    /^Field validation failed: error converting input for field "password": /,
  )
})

test('outside of the bound addresses a right password is denied, and a wrong one refused as ever', async () => {
  const up = await (await server()).mount({ token_bound_cidrs: '10.0.0.0/8' })

  expect(await up.try('pw')).toBe('403 permission denied')
  expect(await up.try('bad')).toBe('400 invalid username or password')
})

test('paths and verbs beside a login', async () => {
  const { root, anonymous, mount } = await server()
  const { path } = await mount()
  const answers = [
    await anonymous.write(`${path}/login`, { password: 'pw' }),
    await root.write(`${path}/login`, { password: 'pw' }),
    await anonymous.write(`${path}/login/bob/`, { password: 'pw' }),
    await anonymous.write(`${path}/login/bob/x`, { password: 'pw' }),
    await anonymous.read(`${path}/login/bob`),
    await anonymous.delete(`${path}/login/bob`),
    await anonymous.call('PUT', `${path}/login/bob`, { password: 'pw' }),
  ]

  expect(answers.map(({ status }) => status)).toEqual([403, 404, 400, 404, 405, 405, 200])
})

test('a name in the body is overridden, with a warning', async () => {
  const { anonymous, mount } = await server()
  const { path } = await mount()

  const { body } = await anonymous.write(`${path}/login/bob`, { password: 'pw', username: 'eve' })

  expect(body.auth?.metadata).toEqual({ username: 'bob' })
  expect(String(body.warnings)).toContain('username')
})

test('the settings of the user and of the mount decide about the token', async () => {
  const { root, mount } = await server()
  const { path, user, login } = await mount()
  const auths = []
  for (const settings of [
    { token_period: '20m' },
    { token_period: 0, token_num_uses: 3 },
    { token_num_uses: 0, token_no_default_policy: true, token_policies: 'a' },
    { token_type: 'batch' },
  ]) {
    await user(settings)
    auths.push((await login()).body.auth)
  }
  await user({ token_type: 'default', token_ttl: '10h' })
  await root.write(`sys/${path}/tune`, { max_lease_ttl: '2h', default_lease_ttl: '1h', token_type: 'batch' })
  const cut = await login()

  expect(auths).toMatchObject([
    { lease_duration: 1200 },
    { num_uses: 3 },
    { policies: ['a'] },
    { token_type: 'batch', renewable: false },
  ])
  expect(cut.body.auth).toMatchObject({ lease_duration: 7200, token_type: 'batch' })
  expect(cut.body.warnings).toEqual([
    'TTL of "10h" exceeded the effective max_ttl of "2h"; TTL value is capped accordingly',
  ])
})

test('users of one mount are not those of another', async () => {
  const { root, mount } = await server()
  const [one, other] = [await mount(), await mount()]
  await root.delete(`${other.path}/users/bob`)
  const unknown = await other.try('pw')
  await other.user({ password: 'pw' })
  const entities = [(await one.login()).body.auth?.entity_id, (await other.login()).body.auth?.entity_id]

  expect(unknown).toBe('400 invalid username or password')
  expect(new Set(entities).size).toBe(2)
})

test('a renewal takes the times of the user as it is now, if the policies are the same', async () => {
  const { as, mount } = await server()
  const { login, user } = await mount({ token_ttl: 600, token_policies: 'P1' })
  const caller = as(String((await login()).body.auth?.client_token))
  const renewed = async (settings: object) => {
    await user(settings)
    const { status, body } = await caller.write('auth/token/renew-self', {})
    return status === 200 ? body.auth?.lease_duration : [status, body.errors]
  }
  const changed = [400, ['failed to renew entry: policies have changed, not renewing']]

  const renewals = [
    await renewed({}),
    await renewed({ token_ttl: 300 }),
    await renewed({ token_policies: 'p2' }),
    await renewed({ token_policies: 'p1,p2' }),
    await renewed({ token_policies: 'default,p1' }),
    await renewed({ token_period: '20m' }),
  ]

  expect(renewals).toEqual([600, 300, changed, changed, 300, 1200])
})

test('the token of a deleted user lives on: a renewal changes nothing until there is such a user again', async () => {
  const { root, as, mount } = await server()
  const { path, login, user } = await mount({ token_ttl: 600, token_policies: 'p1' })
  const caller = as(String((await login()).body.auth?.client_token))
  await root.delete(`${path}/users/bob`)

  const kept = await caller.write('auth/token/renew-self', {})
  const alive = await caller.read('auth/token/lookup-self')
  await user({ password: 'other', token_ttl: 60, token_policies: 'p1' })
  const renewed = await caller.write('auth/token/renew-self', {})

  expect([kept.status, kept.text, alive.status]).toEqual([204, '', 200])
  expect(renewed.body.auth).toMatchObject({ lease_duration: 60 })
})

test('a new password counts at once, and ends no token', async () => {
  const { root, as, mount } = await server()
  const up = await mount()
  const caller = as(String((await up.login()).body.auth?.client_token))

  await root.write(`${up.path}/users/bob/password`, { password: 'new' })
  const renewed = await caller.write('auth/token/renew-self', {})

  expect([await up.try('pw'), await up.try('new')]).toEqual(['400 invalid username or password', 'ok'])
  expect(renewed.status).toBe(200)
})

test('rate limits of userpass mounts name no role', async () => {
  const { root, mount } = await server()
  const { path } = await mount()

  const { status, body } = await root.write('sys/quotas/rate-limit/up', { path, role: 'bob', rate: 5 })

  expect(status).toBe(400)
  expect(body.errors).toEqual([`Mount path "${path}/" does not support use with role-based quotas`])
})

test('a policy with a template lets users change their own passwords, and no others', async () => {
  const { root, as, mount } = await server()
  const up = await mount({ token_policies: 'own-password' })
  await up.user({ password: 'pw' }, 'eve')
  const own = `${up.path}/users/{{identity.entity.aliases.${await up.accessor()}.name}}/password`
  await root.write('sys/policies/acl/own-password', { policy: `path "${own}" { capabilities = ["update"] }` })
  const bob = as(String((await up.login()).body.auth?.client_token))

  const statuses = [
    (await bob.write(`${up.path}/users/bob/password`, { password: 'new' })).status,
    (await bob.write(`${up.path}/users/eve/password`, { password: 'new' })).status,
    (await bob.write(`${up.path}/users/bob`, { token_policies: 'root' })).status,
  ]

  expect(statuses).toEqual([204, 403, 403])
  expect([await up.try('new'), await up.try('pw', 'eve')]).toEqual(['ok', 'ok'])
})

test('a refused login names a user in the log only if there is one, and never the password', async () => {
  const lines: string[] = []
  const log = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) })
  await using logged = await startUserpassServer({ log })
  const up = await logged.mount()
  await up.try('hunter-2')
  await up.try('hunter-2', 'swordfish')

  const refused = lines.filter((line) => line.includes('login_refused')).map((line) => JSON.parse(line))

  expect(refused).toMatchObject([
    { mount: `${up.path}/`, user: 'bob', reason: 'password_wrong' },
    { mount: `${up.path}/`, reason: 'password_wrong' },
  ])
  expect(lines.join('')).not.toMatch(/hunter-2|swordfish/)
})
