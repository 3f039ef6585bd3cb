import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errors } from '../../support/error-bodies.ts'
import { inlineLogin, type JwtDesk, openJwtDesk, outcomeOf, written } from '../../support/jwt-desk.ts'

let desk: JwtDesk
beforeAll(async () => {
  desk = await openJwtDesk()
  const everything = 'path "*" { capabilities = ["create", "read", "update", "delete", "list", "sudo"] }'
  await written(desk.root, 'sys/policies/acl/everything', { policy: everything })
  await desk.role('service', { token_policies: ['everything'], token_ttl: '10m' })
  await desk.role('batch', { token_policies: ['everything'], token_type: 'batch' })
  await written(desk.root, 'sys/namespaces/team', {})
})
afterAll(() => desk[Symbol.asyncDispose]())

const as = (role: string) => desk.head({ role })

describe.each(['service', 'batch'])('a login with a role of type %s', (role) => {
  test.each<[string, string, object | undefined, string]>([
    ['POST', 'auth/token/renew-self', {}, 'batch tokens cannot be renewed'],
    ['POST', 'auth/token/create', {}, 'batch tokens cannot create more tokens'],
    ['POST', 'auth/token/create-orphan', {}, 'batch tokens cannot create more tokens'],
    ['GET', 'cubbyhole/x', undefined, "cubbyhole operations are only supported by 'service' type tokens"],
    ['POST', 'cubbyhole/x', { a: '1' }, "cubbyhole operations are only supported by 'service' type tokens"],
  ])('%s %s is refused as for a batch token', async (method, path, body, text) => {
    expect(outcomeOf(await desk.ask(path, as(role), { method, body }))).toEqual([400, text, false])
  })
})

test('revoke-self has nothing to revoke, unless the role makes batch tokens', async () => {
  const revoked = (role: string) => desk.ask('auth/token/revoke-self', as(role), { method: 'POST' })

  expect((await revoked('service')).status).toBe(204)
  expect(outcomeOf(await revoked('batch'))).toEqual([400, 'batch tokens cannot be revoked', false])
})

test('lookup-self shows a batch token without an id', async () => {
  for (const path of ['auth/token/lookup-self', 'auth/token/lookup']) {
    const { data } = (await desk.ask(path, as('service'))).body

    expect(data).toMatchObject({
      id: '',
      accessor: '',
      type: 'batch',
      renewable: false,
      orphan: true,
      num_uses: 0,
      creation_ttl: 600,
      explicit_max_ttl: 0,
      path: 'auth/jwt/login',
      meta: { role: 'service' },
      display_name: 'jwt-joe',
      policies: ['default', 'everything'],
      entity_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
    expect([599, 600]).toContain(Number(data?.ttl))
    expect(Date.parse(String(data?.expire_time)) / 1000).toBe(Number(data?.creation_time) + 600)
  }
})

test('capabilities-self and the paths of the web UI answer as with a token', async () => {
  const rights = await desk.ask('sys/capabilities-self', desk.head(), {
    method: 'POST',
    body: { paths: ['kv/x', 'sys/mounts'] },
  })
  const mount = await desk.ask('sys/internal/ui/mounts/kv')
  const mounts = await desk.ask('sys/internal/ui/mounts')
  const acl = await desk.ask('sys/internal/ui/resultant-acl')

  expect(rights.body.data).toEqual({
    'kv/x': ['create', 'delete', 'list', 'read', 'update'],
    'sys/mounts': ['deny'],
  })
  expect(mount.body.data).toMatchObject({ path: 'kv/', type: 'kv' })
  expect(Object.keys(mounts.body.data?.secret ?? {})).toContain('kv/')
  expect(acl.body.data).toMatchObject({ root: false })
})

test('a role with limited uses serves a request with each login', async () => {
  for (const uses of [1, 2]) {
    await desk.role(`uses${uses}`, { token_num_uses: uses })
    for (let count = 0; count < 3; count += 1)
      expect((await desk.ask('kv/x', as(`uses${uses}`))).status).toBe(200)
  }
})

test('period, explicit maximum and addresses of the role count', async () => {
  await desk.role('period', { token_period: '60', token_policies: ['everything'] })
  await desk.role('end', { token_explicit_max_ttl: '5m', token_policies: ['everything'] })
  await desk.role('here', { token_bound_cidrs: ['127.0.0.0/8'] })
  const ttl = async (role: string) =>
    Number((await desk.ask('auth/token/lookup-self', as(role))).body.data?.creation_ttl)

  expect(await ttl('period')).toBe(60)
  expect(await ttl('end')).toBe(300)
  expect((await desk.ask('kv/x', as('here'))).status).toBe(200)
})

test('templates are filled with the entity of the login', async () => {
  const { data } = (await desk.root.read('sys/auth/jwt')).body
  const own = `path "kv/{{identity.entity.aliases.${data?.accessor}.name}}" { capabilities = ["read", "create", "update"] }`
  await written(desk.root, 'sys/policies/acl/own', { policy: own })
  await desk.role('own', { token_policies: ['own'] })
  const ask = (sub: string, how = {}) =>
    desk.ask('kv/joe', desk.head({ role: 'own', jwt: desk.jwt({ sub }) }), how)

  expect((await ask('joe', { method: 'POST', body: { a: '2' } })).status).toBe(204)
  expect((await ask('joe')).status).toBe(200)
  expect((await ask('eve')).status).toBe(403)
})

describe('namespaces', () => {
  const inTeam = (path: string, more = {}) =>
    desk.ask(path, desk.head({ role: 'service' }, { 'X-Vault-Inline-Auth-Path': 'auth/jwt/login', ...more }))

  test('the namespace in the path of the request does not count for the login', async () => {
    const { data } = (await inTeam('team/auth/token/lookup-self')).body

    expect(data).toMatchObject({ path: 'auth/jwt/login', display_name: 'jwt-joe' })
  })

  test('the header of the request does, unless the login has its own', async () => {
    const named = (inline: string) =>
      inTeam('auth/token/lookup-self', {
        'X-Vault-Namespace': 'team',
        'X-Vault-Inline-Auth-Namespace': inline,
      })

    expect(outcomeOf(await inTeam('auth/token/lookup-self', { 'X-Vault-Namespace': 'team' }))).toEqual([
      403,
      'permission denied',
      true,
    ])
    for (const root of ['', '/', 'root']) expect((await named(root)).status).toBe(200)
  })

  test('the path of the login may begin with namespaces', async () => {
    await written(desk.root, 'team/sys/auth/jwt', { type: 'jwt' })
    const { data } = (await desk.root.read('auth/jwt/config')).body
    await written(desk.root, 'team/auth/jwt/config', { jwt_validation_pubkeys: data?.jwt_validation_pubkeys })
    await written(desk.root, 'team/auth/jwt/role/r', {
      role_type: 'jwt',
      user_claim: 'sub',
      bound_audiences: 'gate',
    })
    const head = desk.head({ role: 'r' })
    const asked = (more: object) => desk.ask('team/auth/token/lookup-self', { ...head, ...more })

    for (const more of [
      { 'X-Vault-Inline-Auth-Path': 'team/auth/jwt/login' },
      { 'X-Vault-Inline-Auth-Namespace': '/team/' },
    ])
      expect((await asked(more)).body.data).toMatchObject({
        namespace_path: 'team/',
        display_name: 'team-auth-jwt-joe',
      })
  })

  test('a call that follows the namespace of another token has only the rights of the login there', async () => {
    const child = await written(desk.root, 'team/auth/token/create', { policies: ['default'] })
    await written(desk.root, 'sys/policies/acl/lookup', {
      policy: 'path "auth/token/lookup" { capabilities = ["update"] }',
    })
    await desk.role('lookup', { token_policies: ['lookup'] })
    const how = { method: 'POST', body: { token: child.body.auth?.client_token } }

    expect((await desk.ask('auth/token/lookup', as('lookup'), how)).status).toBe(403)
    expect((await desk.ask('auth/token/lookup', as('service'), how)).status).toBe(200)
  })
})

describe('requests', () => {
  test('help, HEAD and OPTIONS answer as with a token', async () => {
    const token = String(
      (await desk.root.write('auth/jwt/login', { role: 'dev', jwt: desk.jwt() })).body.auth?.client_token,
    )
    for (const [method, path] of [
      ['GET', 'kv/x?help=1'],
      ['HEAD', 'kv/x'],
      ['OPTIONS', 'kv/x'],
      ['POST', 'kv/'],
    ] as const) {
      const withToken = await desk.as(token).call(method, path)
      const withLogin = await desk.ask(path, desk.head(), { method })
      expect([withLogin.status, withLogin.body]).toEqual([withToken.status, withToken.body])
    }
  })

  test('a login in the body runs after the one in the headers, and returns its token', async () => {
    const login = (head: object) =>
      desk.ask(
        'auth/jwt/login',
        { ...desk.head(), ...head },
        { method: 'POST', body: { role: 'service', jwt: desk.jwt() } },
      )

    expect((await login({})).body.auth).toMatchObject({ client_token: expect.stringMatching(/^hvs\./) })
    expect(outcomeOf(await login(desk.head({ role: 'nope' })))).toEqual([
      400,
      'role "nope" could not be found',
      true,
    ])
  })

  test('a response is wrapped for the request, and outlives it', async () => {
    const { body } = await desk.ask('kv/x', desk.head({}, { 'X-Vault-Wrap-TTL': '60' }))

    expect(body.wrap_info).toMatchObject({ creation_path: 'kv/x', ttl: 60 })
    expect((await desk.as(String(body.wrap_info?.token)).write('sys/wrapping/unwrap')).body).toMatchObject({
      data: { a: '1' },
    })
  })

  test('unwrap takes a token in the body; the login is none', async () => {
    const wrapped = await desk.ask('kv/x', desk.head({}, { 'X-Vault-Wrap-TTL': '60' }))
    const unwrap = (body: object) => desk.ask('sys/wrapping/unwrap', desk.head(), { method: 'POST', body })

    expect((await unwrap({ token: wrapped.body.wrap_info?.token })).body).toMatchObject({ data: { a: '1' } })
    expect(await unwrap({})).toMatchObject({
      status: 400,
      body: errors('wrapping token is not valid or does not exist'),
    })
  })

  test('a body over 64 KiB is read once the login has succeeded', async () => {
    const large = JSON.stringify({ a: 'x'.repeat(70_000) })
    const post = (raw: string, head = desk.head()) =>
      desk.anonymous.call('POST', 'kv/large', undefined, { headers: head, raw })

    expect((await post(large)).status).toBe(204)
    expect((await desk.ask('kv/large')).body.data).toEqual(JSON.parse(large))
    expect((await post(`${large}!`)).status).toBe(400)
    expect(outcomeOf(await post(`${large}!`, desk.head({ role: 'nope' })))).toEqual([
      400,
      'role "nope" could not be found',
      true,
    ])
  })
})

test('neither token nor accessor nor lease remains', async () => {
  const { root } = desk
  const accessors = async () => (await root.list('auth/token/accessors')).body.data?.keys
  const before = await accessors()

  await desk.ask('kv/x')

  expect(await accessors()).toEqual(before)
})

test('the end of a browser login may be carried with `read` only', async () => {
  await written(desk.root, 'sys/auth/browser', { type: 'oidc' })
  const callback = (operation: string) =>
    desk.ask(
      'kv/x',
      inlineLogin(
        'auth/browser/oidc/callback',
        { state: 'x' },
        { 'X-Vault-Inline-Auth-Operation': operation },
      ),
    )

  const [status, text, failed] = outcomeOf(await callback('read'))
  expect([status, failed]).toEqual([400, true])
  expect(text).not.toContain('failed to perform inline authentication')
  expect(outcomeOf(await callback('update'))).toEqual([
    405,
    'failed to perform inline authentication: unsupported operation',
    true,
  ])
})

test('a held read is served with the same login', async () => {
  await written(desk.root, 'sys/mounts/held', { type: 'kv', options: { version: '2' } })
  await written(desk.root, 'held/data/a', { data: { a: '1' } })
  const head = as('service')
  const { etag = '' } = (await desk.ask('held/data/a', head)).headers

  const read = desk.ask('held/data/a?wait=60s', { ...head, 'If-None-Match': String(etag) })
  await expect.poll(async () => (await desk.root.read('sys/in-flight-req')).text).toContain('held/data/a')
  await written(desk.root, 'held/data/a', { data: { a: '2' } })

  expect((await read).body.data).toMatchObject({ data: { a: '2' } })
})
