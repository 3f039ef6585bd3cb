import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Client, inside, type Json } from '../../support/client.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { aRole, callerWith } from './callers.ts'

let server: TestServer
let root: Client
beforeAll(async () => {
  server = await startTestServer()
  root = server.root
})
afterAll(() => server[Symbol.asyncDispose]())

let count = 0
const newRole = () => `auth/jwt/role/r${++count}`
const versions = async (client: Client, path: string): Promise<Json[]> => {
  const answer = await client.read(`${path}?history=true`)
  expect([answer.status, answer.text]).toEqual([200, expect.anything()])
  return answer.body.data?.versions as unknown as Json[]
}

const secret = 'a-secret-that-nobody-may-see'

test('the history says who changed what, when and with which request', async () => {
  const path = newRole()
  await root.write(path, aRole({ bound_claims: { repository: 'one', team: 'x' } }))
  const ada = await callerWith(root, `path "${path}" { capabilities = ["read", "update"] }`)

  await ada.write(path, aRole({ bound_claims: { repository: 'two', team: 'x' }, token_ttl: '1h' }))

  const [second, first, ...rest] = await versions(ada, path)
  expect(rest).toEqual([])
  expect(first).toMatchObject({ version: 1, operation: 'create', changes: {} })
  expect(second).toMatchObject({
    version: 2,
    operation: 'update',
    by: {
      display_name: 'token-ada',
      entity_id: '',
      token_accessor_hash: expect.stringMatching(/^[0-9a-f]{32}$/),
    },
    request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    changes: { 'bound_claims.repository': { from: 'one', to: 'two' }, token_ttl: { from: 0, to: 3600 } },
  })
  expect(first?.by).not.toEqual(second?.by)
})

test('a version is shown with its fields, and the present one is the last', async () => {
  const path = newRole()
  await root.write(path, aRole({ token_policies: ['one'] }))
  await root.write(path, aRole({ token_policies: ['two'] }))

  const shown = async (version: number) => (await root.read(`${path}?version=${version}`)).body.data
  expect(await shown(1)).toMatchObject({ version: 1, path, fields: { token_policies: ['one'] }, secrets: [] })
  expect(await shown(2)).toMatchObject({ version: 2, fields: { token_policies: ['two'] } })
  expect(await root.read(`${path}?version=3`)).toMatchObject({
    status: 404,
    body: { errors: ['1 error occurred:\n\t* version 3 is not kept; the versions are 1 to 2\n\n'] },
  })
})

test.each(['-1', 'x', '1.5', '', '99999999999'])('version %j is refused', async (version) => {
  const path = newRole()
  await root.write(path, aRole())

  expect((await root.read(`${path}?version=${version}`)).status).toBe(400)
  expect((await root.write(`${path}?revert=${version}`)).status).toBe(400)
})

test('without the query parameters, an answer is the same as ever', async () => {
  const path = newRole()
  await root.write(path, aRole())
  const before = (await root.read(path)).body.data
  await root.write(path, aRole({ token_ttl: 60 }))
  await root.write(`${path}?revert=1`)

  expect((await root.read(path)).body.data).toEqual(before)
  expect((await root.read(`${path}?history=false`)).body.data).toEqual(before)
})

test('a write that changes nothing is no change', async () => {
  const path = newRole()
  await root.write(path, aRole({ token_ttl: '1h' }))
  await root.write(path, aRole({ token_ttl: 3600 }))
  await root.write(path, aRole())

  expect(await versions(root, path)).toHaveLength(1)
})

test('a write that only resets what it omits is a change', async () => {
  const path = newRole()
  await root.write(path, aRole({ allowed_redirect_uris: ['https://a.example'] }))
  await root.write(path, { user_claim: 'sub' })

  expect(await versions(root, path)).toMatchObject([
    { version: 2, changes: { role_type: { from: 'jwt', to: 'oidc' } } },
    { version: 1 },
  ])
  const { changes } = (await root.read(`sys/history?path=${path}`)).body.data ?? {}
  expect(changes).toMatchObject([{ changed: ['role_type'] }, { operation: 'create' }])
})

test('how a write is checked is no change, and a revert may say it too', async () => {
  const path = newRole()
  await root.write(path, aRole())
  await root.write(`${path}?guard=0`, aRole())
  await root.write(path, aRole({ guard: 1 }))
  expect(await versions(root, path)).toHaveLength(1)
  await root.write(path, aRole({ token_ttl: 60 }))

  expect((await root.write(`${path}?revert=1&guard=0`)).status).toBe(204)
  expect((await root.write(`${path}?revert=2`, { guard: 0 })).status).toBe(204)
})

test.each(['history=maybe', 'history=1&history=0', 'version=1&version=2', 'revert=1'])(
  'a read with %s is no failure of the server',
  async (query) => {
    const path = newRole()
    await root.write(path, aRole())
    expect((await root.read(`${path}?${query}`)).status).toBeLessThan(500)
  },
)

test.each(['revert=1&revert=2', 'revert=', 'revert=0x1', 'revert=%00', 'Revert=1', 'revert=1e1'])(
  'a write with %s is no failure of the server',
  async (query) => {
    const path = newRole()
    await root.write(path, aRole())
    expect((await root.write(`${path}?${query}`, {})).status).toBeLessThan(500)
  },
)

test('deep and oddly named values are kept as they are', async () => {
  const path = newRole()
  const deep = `${'['.repeat(5000)}1.50${']'.repeat(5000)}`
  const raw = (ttl: number) =>
    `{"role_type":"jwt","user_claim":"sub","token_ttl":${ttl},"bound_claims":{"__proto__":"a","constructor":["b"],"n":12345678901234567890,"deep":${deep}}}`
  expect((await root.call('POST', path, undefined, { raw: raw(1) })).status).toBe(204)
  const before = (await root.read(path)).text
  await root.write(path, aRole({ bound_claims: { toString: 'c' } }))

  const [latest] = await versions(root, path)
  expect(Object.keys({ ...latest?.changes })).toEqual(
    expect.arrayContaining(['bound_claims.__proto__', 'bound_claims.constructor', 'bound_claims.toString']),
  )
  await root.write(`${path}?revert=1`)
  const data = (text: string) =>
    text.slice(text.indexOf('"bound_claims"'), text.indexOf('"bound_claims_type"'))
  expect(data((await root.read(path)).text)).toBe(data(before))
})

test('a refused write is no change', async () => {
  const path = newRole()
  await root.write(path, aRole())
  expect((await root.write(path, aRole({ role_type: 'other' }))).status).toBe(400)

  expect(await versions(root, path)).toHaveLength(1)
})

test('secrets are never shown, and come back with a revert', async () => {
  await root.write('sys/auth/kube', { type: 'kubernetes' })
  const config = 'auth/kube/config'
  const host = { kubernetes_host: 'https://10.0.0.1:6443', disable_local_ca_jwt: true }
  await root.write(config, { ...host, token_reviewer_jwt: secret })
  await root.write(config, { ...host, token_reviewer_jwt: 'other' })

  const history = await root.read(`${config}?history=true`)
  expect(history.body.data?.versions).toMatchObject([{ changes: { token_reviewer_jwt: 'changed' } }, {}])
  const version = await root.read(`${config}?version=1`)
  expect(version.body.data).toMatchObject({ secrets: ['token_reviewer_jwt'] })
  await root.write(config, host)
  expect((await root.read(config)).body.data).toMatchObject({ token_reviewer_jwt_set: false })

  await root.write(`${config}?revert=1`)

  expect((await root.read(config)).body.data).toMatchObject({ token_reviewer_jwt_set: true })
  const log = await root.read('sys/history?limit=1000')
  for (const { text } of [history, version, log]) expect(text).not.toContain(secret)
})

test('a revert has all checks of a write', async () => {
  const path = newRole()
  await root.write('auth/jwt/config', { jwt_validation_pubkeys: [pem] })
  await root.write(path, aRole({ token_period: '700h' }))
  await root.write(path, aRole({ token_period: 0 }))
  await root.write('sys/auth/jwt/tune', { max_lease_ttl: '1h' })

  const refused = await root.write(`${path}?revert=1`)

  expect(refused.status).toBe(400)
  expect(refused.text).toContain('maximum lease TTL')
  await root.write('sys/auth/jwt/tune', { max_lease_ttl: 'system' })
})

const pem = `-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEGzU7+bC09zmGKXXyYAr3zxVQBRr6
8aCcOdblTVB0bdDd/s/3SCnHHLUkBgsaDdhdDtYAxL7dtKJMg91fDcMWlA==
-----END PUBLIC KEY-----`

test('a revert takes no fields', async () => {
  const path = newRole()
  await root.write(path, aRole())
  await root.write(path, aRole({ token_ttl: 60 }))

  const refused = await root.write(`${path}?revert=1`, { user_claim: 'email' })

  expect(refused).toMatchObject({ status: 400 })
  expect(refused.text).toContain('a revert takes no fields')
})

test('a policy that must be written with cas is reverted with it', async () => {
  const path = 'sys/policies/acl/careful'
  await root.write(path, { policy: 'path "a" { capabilities = ["read"] }', cas_required: true, cas: -1 })
  await root.write(path, { policy: 'path "b" { capabilities = ["read"] }', cas_required: true, cas: 1 })

  expect((await root.write(`${path}?revert=1`)).status).toBe(400)
  expect((await root.write(`${path}?revert=1`, { cas: 1 })).status).toBe(400)
  expect((await root.write(`${path}?revert=1`, { cas: 2 })).status).toBe(204)
})

test.each(['secret/data/a', 'auth/token/create', 'sys/mounts-x', 'auth/jwt/lint'])(
  'a revert of %s, which has no history, changes nothing',
  async (path) => {
    expect((await root.write(`${path}?revert=1`, { data: { a: 'b' } })).status).toBeGreaterThanOrEqual(400)
  },
)

test('a path that is another name of an object says where its history is', async () => {
  await root.write('sys/policy/named', { policy: 'path "a" { capabilities = ["read"] }' })
  const [only] = await versions(root, 'sys/policies/acl/named')
  expect(only).toMatchObject({ version: 1, operation: 'create' })

  for (const answer of [
    await root.read('sys/policy/named?history=true'),
    await root.write('sys/policy/named?revert=1'),
  ]) {
    expect(answer.status).toBe(400)
    expect(answer.text).toContain('the history of this object is at sys/policies/acl/named')
  }
})

test('a path of one field changes the history of its object, and shows none', async () => {
  await root.write('sys/auth/approle', { type: 'approle' })
  const path = 'auth/approle/role/deploy'
  await root.write(path, { token_policies: ['one'] })
  await root.write(`${path}/policies`, { token_policies: ['two'] })
  await root.delete(`${path}/policies`)

  const [third, second] = await versions(root, path)
  expect(second).toMatchObject({
    operation: 'update',
    changes: { token_policies: { from: ['one'], to: ['two'] } },
  })
  expect(third).toMatchObject({ operation: 'update', changes: { token_policies: { from: ['two'], to: [] } } })
  expect((await root.read(`${path}/policies?history=true`)).status).toBe(400)
})

test('a role id is shown only where it is ever shown', async () => {
  await root.write('sys/auth/approle3', { type: 'approle' })
  const path = 'auth/approle3/role/deploy'
  await root.write(path, { role_id: 'the-first-id' })
  await root.write(path, { role_id: 'the-other-id' })

  const { text, body } = await root.read(`${path}?history=true`)
  expect(body.data?.versions).toMatchObject([{ changes: { role_id: 'changed' } }, {}])
  expect(text + (await root.read(`${path}?version=1`)).text).not.toContain('-id')

  await root.write(`${path}?revert=1`)
  expect((await root.read(`${path}/role-id`)).body.data).toEqual({ role_id: 'the-first-id' })
})

test('the password of a user comes back with a revert, and nobody sees its hash', async () => {
  await root.write('sys/auth/people', { type: 'userpass' })
  const path = 'auth/people/users/ada'
  await root.write(path, { password: 'first', token_policies: ['one'] })
  await root.write(`${path}/password`, { password: 'second' })
  const [changed] = await versions(root, path)
  expect(changed).toMatchObject({
    version: 2,
    operation: 'update',
    changed: expect.arrayContaining(['password']),
    changes: { password_hash: 'changed' },
  })
  const login = async (password: string) =>
    (await server.anonymous.write('auth/people/login/ada', { password })).status
  for (const query of ['history=true', 'version=1', 'version=2'])
    expect((await root.read(`${path}?${query}`)).text).not.toContain('$argon2')
  await root.write(path, { token_policies: ['two'] })
  const [, ...before] = await versions(root, path)
  await root.write(path, { token_policies: ['two'] })
  expect((await versions(root, path)).slice(1)).toEqual(before)

  expect((await root.write(`${path}?revert=2`)).status).toBe(204)
  expect([await login('first'), await login('second')]).toEqual([400, 200])
  expect((await root.write(`${path}?revert=1`)).status).toBe(204)
  expect([await login('first'), await login('second')]).toEqual([200, 400])

  await root.delete(path)

  expect((await root.write(`${path}?revert=2`)).status).toBe(204)
  expect([await login('first'), await login('second')]).toEqual([400, 200])
  await root.delete(path)
  expect((await root.write(`${path}?revert=2`, { password: 'third' })).status).toBe(204)
  expect([await login('second'), await login('third')]).toEqual([400, 200])
})

test('a revert restores only the hash that the history has, and only for whoever may set a password', async () => {
  await root.write('sys/auth/staff', { type: 'userpass' })
  const path = 'auth/staff/users/ada'
  await root.write(path, { password: 'first', token_policies: ['one'] })
  await root.write(path, { token_policies: ['two'] })
  await root.write(path, { password: 'second' })
  const limited = await callerWith(
    root,
    `path "${path}" { capabilities = ["update"], denied_parameters = { "password" = [], "password_hash" = [] } }`,
  )
  const costly = `$argon2id$v=19$m=9999999,t=999,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`

  const sent = await root.write(`${path}?revert=1`, { password_hash: costly })

  expect([sent.status, sent.body.errors]).toEqual([400, [expect.stringMatching(/^a revert takes no fields/)]])
  expect((await limited.write(`${path}?revert=2`)).status).toBe(403)
  await root.write(path, { token_policies: ['three'] })
  expect((await limited.write(`${path}?revert=3`)).status).toBe(204)
})

test('a mount cannot be brought back', async () => {
  await root.write('sys/mounts/gone', { type: 'cloud', description: 'ours' })
  await root.write('sys/mounts/gone/tune', { max_lease_ttl: '1h' })
  await root.delete('sys/mounts/gone')

  const history = await versions(root, 'sys/mounts/gone/tune')
  expect(history).toMatchObject([
    { version: 3, operation: 'delete' },
    { version: 2, operation: 'update', changes: { max_lease_ttl: { from: '0', to: '3600' } } },
    { version: 1, operation: 'create' },
  ])
  expect((await root.read('sys/history/deleted?prefix=sys/mounts/gone')).body.data?.deleted).toMatchObject([
    { path: 'sys/mounts/gone/tune', version: 3, restorable: false },
  ])
  const refused = await root.write('sys/mounts/gone/tune?revert=2')
  expect(refused).toMatchObject({ status: 400 })
  expect(refused.text).toContain('the data of a removed mount is gone')
})

test('what was in a mount has no history any more once it is removed', async () => {
  await root.write('sys/auth/short', { type: 'jwt' })
  await root.write('auth/short/role/a', aRole())
  await root.write('auth/short/role/a', aRole({ token_ttl: 60 }))
  await root.delete('auth/short/role/a')
  await root.delete('sys/auth/short')
  await root.write('sys/auth/short', { type: 'jwt' })

  expect((await root.read('auth/short/role/a?history=true')).status).toBe(404)
  expect((await root.read('sys/history?path=auth/short/role')).body.data).toEqual({ changes: [] })
  expect((await root.read('sys/history/deleted?prefix=auth/short/role')).body.data).toEqual({ deleted: [] })
})

test('history follows a mount that moves', async () => {
  await root.write('sys/auth/before', { type: 'jwt' })
  await root.write('sys/auth/before/tune', { description: 'moves' })
  await root.write('auth/before/role/a', aRole())
  await root.write('auth/before/role/a', aRole({ token_ttl: 60 }))
  await root.write('sys/remount', { from: 'auth/before', to: 'auth/after' })
  await expect.poll(async () => (await root.read('auth/after/role/a')).status).toBe(200)

  expect(await versions(root, 'auth/after/role/a')).toHaveLength(2)
  expect(await versions(root, 'sys/auth/after/tune')).toMatchObject([
    { version: 3, operation: 'update', changed: ['from', 'to'], changes: {} },
    { version: 2, changed: ['description'] },
    { version: 1, operation: 'create' },
  ])
  expect((await root.read('sys/history?path=sys/auth/before')).body.data).toEqual({ changes: [] })
  expect((await root.read('sys/history?path=sys/auth/after')).body.data?.changes).toHaveLength(3)
  const { changes } = (await root.read('sys/history?path=auth/after')).body.data ?? {}
  expect(changes).toMatchObject([
    { path: 'auth/after/role/a', version: 2 },
    { path: 'auth/after/role/a', version: 1 },
  ])
  expect((await root.write('auth/after/role/a?revert=1')).status).toBe(204)
})

test('a change that is older than the history is version 0, of nobody', async () => {
  await using without = await startTestServer({ settings: { HISTORY_VERSIONS: '0' } })
  await without.root.write('auth/jwt/role/a', aRole())
  const refused = await without.root.read('auth/jwt/role/a?history=true')
  expect(refused).toMatchObject({ status: 400 })
  expect(refused.text).toContain('GATEHOUSE_HISTORY_VERSIONS')

  const tune = 'sys/mounts/cloud/tune'
  await root.write(tune, { description: 'changed' })
  const [second, first] = await versions(root, tune)
  expect(second).toMatchObject({ version: 1, operation: 'update' })
  expect(first).toMatchObject({ version: 0, operation: null, by: null, time: null })
  expect((await root.write(`${tune}?revert=0`)).status).toBe(204)
})

test('the last changes of an object are kept, and those of the last days', async () => {
  const clock = new FakeClock(Date.UTC(2026, 0, 1))
  await using bounded = await startTestServer({
    clock,
    settings: { HISTORY_VERSIONS: '3', HISTORY_DAYS: '10' },
  })
  const path = 'auth/jwt/role/a'
  for (let ttl = 1; ttl <= 6; ttl += 1) await bounded.root.write(path, aRole({ token_ttl: ttl }))

  expect((await versions(bounded.root, path)).map(({ version }) => Number(version))).toEqual([6, 5, 4, 3])
  expect((await bounded.root.read('sys/history')).body.data?.changes).toHaveLength(3)

  clock.advance(9 * 86_400)
  await bounded.root.write(path, aRole({ token_ttl: 7 }))
  clock.advance(2 * 86_400)

  expect((await versions(bounded.root, path)).map(({ version }) => Number(version))).toEqual([7, 6])
  expect((await bounded.root.read('sys/history')).body.data?.changes).toHaveLength(1)
})

test('large forms push out earlier ones sooner', async () => {
  const path = 'sys/policies/acl/large'
  const policy = (number: number) =>
    `# ${String(number).repeat(300_000)}\npath "a" { capabilities = ["read"] }`
  for (let number = 1; number <= 6; number += 1) await root.write(path, { policy: policy(number) })

  expect((await versions(root, path)).map(({ version }) => Number(version))).toEqual([6, 5, 4, 3])
})

test('a create that follows a deletion goes on with the numbers', async () => {
  const path = newRole()
  await root.write(path, aRole({ token_ttl: 1 }))
  await root.delete(path)
  await root.delete(path)
  await root.write(path, aRole({ token_ttl: 2 }))

  expect((await versions(root, path)).map(({ version, operation }) => [version, operation])).toEqual([
    [3, 'create'],
    [2, 'delete'],
    [1, 'create'],
  ])
  expect((await root.read(`${path}?version=2`)).status).toBe(404)
  expect((await root.write(`${path}?revert=2`)).status).toBe(404)
})

test('of deleted objects, the last 500 of a namespace can be brought back', async () => {
  await root.write('sys/namespaces/full')
  const ns = inside('full')
  for (let number = 0; number < 502; number += 1) {
    await root.write(`auth/token/roles/r${number}`, {}, ns)
    await root.delete(`auth/token/roles/r${number}`, ns)
  }

  const seen: string[] = []
  for (let after = ''; ; ) {
    const { deleted, next } =
      (await root.read(`sys/history/deleted?limit=200&after=${after}`, ns)).body.data ?? {}
    seen.push(...(deleted as unknown as Json[]).map(({ path }) => String(path)))
    if (next === undefined) break
    after = String(next)
  }
  expect(seen).toHaveLength(500)
  expect(seen[0]).toBe('auth/token/roles/r501')
  expect(seen).not.toContain('auth/token/roles/r1')
  expect((await root.write('auth/token/roles/r1?revert=1', undefined, ns)).status).toBe(404)
  expect((await root.write('auth/token/roles/r2?revert=1', undefined, ns)).status).toBe(200)
})
