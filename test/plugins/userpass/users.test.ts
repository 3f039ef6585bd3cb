import { expect, test } from 'vitest'
import { shared } from '../../support/shared.ts'
import { startUserpassServer } from './userpass-server.ts'

const server = shared(startUserpassServer)

const fresh = {
  token_bound_cidrs: [],
  token_explicit_max_ttl: 0,
  token_max_ttl: 0,
  token_no_default_policy: false,
  token_num_uses: 0,
  token_period: 0,
  token_strictly_bind_ip: false,
  token_policies: [],
  token_ttl: 0,
  token_type: 'default',
}

const pair = 'must provide either password or password_hash'

test('a new user has defaults, and a read shows nothing of the password', async () => {
  const { root, mount } = await server()
  const { path } = await mount()

  const [read, list] = [await root.read(`${path}/users/bob`), await root.list(`${path}/users`)]

  expect(read.body.data).toEqual(fresh)
  expect(list.body.data).toEqual({ keys: ['bob'] })
})

test('all fields are kept as written, and old names set the new ones', async () => {
  const { root, mount } = await server()
  const { path, user } = await mount()
  const written = {
    token_policies: 'b,a',
    token_ttl: '10m',
    token_max_ttl: 1200,
    token_explicit_max_ttl: '1h',
    token_bound_cidrs: '127.0.0.1/32,10.0.0.0/8',
    token_num_uses: 7,
    token_type: 'service',
  }
  const read = async () => (await root.read(`${path}/users/bob`)).body.data

  await user({ ...written, token_no_default_policy: true })
  const asWritten = await read()
  await user({ policies: 'B,a,a', ttl: '5m', max_ttl: '20m', bound_cidrs: '127.0.0.1/32' })
  const byOldNames = await read()
  await user({ token_policies: 'z', token_ttl: '3m', token_max_ttl: '5m', token_bound_cidrs: '127.0.0.1' })

  expect(asWritten).toMatchObject({
    token_policies: ['b', 'a'],
    token_ttl: 600,
    token_max_ttl: 1200,
    token_explicit_max_ttl: 3600,
    token_bound_cidrs: ['127.0.0.1', '10.0.0.0/8'],
    token_num_uses: 7,
    token_type: 'service',
  })
  expect(byOldNames).toMatchObject({
    policies: ['a', 'b'],
    token_policies: ['a', 'b'],
    ttl: 300,
    token_ttl: 300,
    max_ttl: 1200,
    bound_cidrs: ['127.0.0.1'],
    token_bound_cidrs: ['127.0.0.1'],
  })
  expect(await read()).toEqual({
    ...fresh,
    token_policies: ['z'],
    token_ttl: 180,
    token_max_ttl: 300,
    token_explicit_max_ttl: 3600,
    token_bound_cidrs: ['127.0.0.1'],
    token_num_uses: 7,
    token_type: 'service',
    token_no_default_policy: true,
  })
})

test.each<{ row: string; body: object; error: string }>([
  { row: 'no password', body: {}, error: pair },
  { row: 'an empty password', body: { password: '' }, error: pair },
  {
    row: 'a password that is too long',
    body: { password: 'é'.repeat(2049) },
    error: 'password is longer than maximum of 4096 bytes',
  },
  {
    row: 'a TTL above the maximum',
    body: { password: 'x', token_ttl: '5h', token_max_ttl: '1h' },
    error: "'token_ttl' cannot be greater than 'token_max_ttl'",
  },
  {
    row: 'an old name that contradicts',
    body: { password: 'x', token_ttl: '2m', max_ttl: '1m' },
    error: "'token_ttl' cannot be greater than 'token_max_ttl'",
  },
  {
    row: 'a type of a mount',
    body: { password: 'x', token_type: 'default-service' },
    error: 'invalid \'token_type\' value "default-service"',
  },
  {
    row: 'negative uses',
    body: { password: 'x', token_num_uses: -1 },
    error: "'token_num_uses' cannot be negative",
  },
  {
    row: 'a periodic batch token',
    body: { password: 'x', token_type: 'batch', token_period: 5 },
    error: "'token_type' cannot be 'batch' or 'default_batch' when set to generate periodic tokens",
  },
  {
    row: 'an address that is none',
    body: { password: 'x', bound_cidrs: 'bad' },
    error:
      'error parsing address "bad": Unable to convert "bad" to an IPv4 or IPv6 address, or a UNIX Socket',
  },
  {
    row: 'a password of a wrong type',
    body: { password: ['a'] },
    error: 'error converting input for field "password": ',
  },
])('a new user is refused: $row', async ({ body, error }) => {
  const { root, mount } = await server()
  const { path, user } = await mount()

  const answer = await user(body, 'eve')

  expect(answer.status).toBe(400)
  expect(String(answer.body.errors)).toContain(error)
  expect((await root.read(`${path}/users/eve`)).status).toBe(404)
})

test('an update without a password keeps it, and settings that were refused change nothing', async () => {
  const up = await (await server()).mount({ token_ttl: 60, token_policies: 'a' })

  const statuses = [
    (await up.user({ token_ttl: 90 })).status,
    (await up.user({ password: '' })).status,
    (await up.user({ password: 'new', token_num_uses: -1 })).status,
  ]
  const kept = await up.login()
  await up.user({ password: 'new' })

  expect(statuses).toEqual([204, 204, 400])
  expect(kept.body.auth).toMatchObject({ lease_duration: 90, policies: ['a', 'default'] })
  expect([await up.try('pw'), await up.try('new')]).toEqual(['400 invalid username or password', 'ok'])
})

test('a user has one name in all spellings, also for the password and the policies', async () => {
  const { root, mount } = await server()
  const up = await mount()

  await root.write(`${up.path}/users/BOB/password`, { password: 'new' })
  await root.write(`${up.path}/users/Bob/policies`, { policies: 'a' })
  const login = await up.login('new', 'bOb')

  expect((await root.list(`${up.path}/users`)).body.data).toEqual({ keys: ['bob'] })
  expect(await up.try('pw')).toBe('400 invalid username or password')
  expect(login.body.auth).toMatchObject({ policies: ['a', 'default'], metadata: { username: 'bob' } })
})

test.each(['a.b', 'a-b', 'A_B', '0', 'a..b'])('%s is the name of a user', async (name) => {
  const up = await (await server()).mount()

  expect((await up.user({ password: 'x' }, name)).status).toBe(204)
})

test.each(['-a', 'a-', '.a', 'a.', 'a%20b', 'a/b', '%C3%BC', 'a@b'])(
  '%s is not the name of a user',
  async (name) => {
    const up = await (await server()).mount()

    const [user, login] = [await up.user({ password: 'x' }, name), await up.login('x', name)]

    expect(user.body).toEqual({ errors: ['1 error occurred:\n\t* unsupported path\n\n'] })
    expect(login.body).toEqual({ errors: ['unsupported path'] })
    expect([user.status, login.status]).toEqual([404, 404])
  },
)

test('a password is changed by one of password and hash, and a maximum is no reason to warn', async () => {
  const { root, mount } = await server()
  const up = await mount()
  const refused = []
  for (const body of [{}, { password: '' }, { password: 'a', password_hash: 'b' }])
    refused.push(String((await root.write(`${up.path}/users/bob/password`, body)).body.errors))
  const above = await up.user({ token_max_ttl: '9000h', token_period: '9000h' })

  expect(refused).toEqual([pair, pair, 'only one of password or password_hash may be provided'])
  expect([above.status, above.text]).toEqual([204, ''])
  expect(await up.accessor()).toMatch(/^auth_userpass_[0-9a-f]{8}$/)
})

test('an unknown user: nothing to read, to delete or to change', async () => {
  const { root, mount } = await server()
  const { path } = await mount()
  await root.delete(`${path}/users/bob`)

  const read = await root.read(`${path}/users/bob`)
  const list = await root.list(`${path}/users`)
  const gone = await root.delete(`${path}/users/bob`)
  const changes = [
    await root.write(`${path}/users/bob/password`, {}),
    await root.write(`${path}/users/bob/policies`, { policies: 'x' }),
  ]

  expect([read.status, list.status, gone.status]).toEqual([404, 404, 204])
  expect([read.body, list.body]).toEqual([{ errors: [] }, { errors: [] }])
  for (const { status, body } of changes)
    expect([status, body]).toEqual([400, { errors: ['username does not exist'] }])
})

test('a write of the policies: nothing sent changes nothing, and the new name counts for both', async () => {
  const { root, mount } = await server()
  const { path } = await mount({ policies: 'a' })
  const shown = async () => (await root.read(`${path}/users/bob`)).body.data

  const empty = await root.write(`${path}/users/bob/policies`, {})
  const kept = await shown()
  await root.write(`${path}/users/bob/policies`, { policies: 'x', token_policies: ' Z,y,z' })

  expect(empty.status).toBe(204)
  expect(kept).toMatchObject({ policies: ['a'], token_policies: ['a'] })
  expect(await shown()).toMatchObject({ policies: ['y', 'z'], token_policies: ['y', 'z'] })
})

test('passwords are bytes: blanks, case, zero bytes and accents count, up to 4096 bytes', async () => {
  const up = await (await server()).mount()
  const pairs = [
    [' ', '  '],
    ['pw ', 'pw'],
    ['Pw', 'pw'],
    ['a\0b', 'a\0c'],
    ['é', 'e\u0301'],
    [`${'p'.repeat(4095)}a`, `${'p'.repeat(4095)}b`],
    ['0', '00'],
  ]
  const answers = []
  for (const [right, wrong] of pairs) {
    await up.user({ password: right })
    answers.push([await up.try(right), await up.try(wrong)])
  }

  expect(answers).toEqual(pairs.map(() => ['ok', '400 invalid username or password']))
})

test('a policy that denies a user denies every spelling of the name', async () => {
  const { root, as, mount } = await server()
  const { path } = await mount()
  const rules = `path "${path}/users/*" { capabilities = ["create", "update", "read"] }
    path "${path}/users/bob/password" { capabilities = ["deny"] }`
  await root.write('sys/policies/acl/no-bob', { policy: rules })
  const token = await root.write('auth/token/create', { policies: ['no-bob'] })
  const caller = as(String(token.body.auth?.client_token))

  const own = await caller.write(`${path}/users/BOB/password`, { password: 'x' })
  const other = await caller.write(`${path}/users/eve`, { password: 'x' })

  expect([own.status, other.status]).toEqual([403, 204])
})
