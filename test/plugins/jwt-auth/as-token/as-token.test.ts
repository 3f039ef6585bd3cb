import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errors } from '../../../support/error-bodies.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import {
  type Headers,
  issuer,
  type JwtDesk,
  openJwtDesk,
  outcomeOf,
  written,
} from '../../../support/jwt-desk.ts'
import { testOfOneServer } from '../../../support/of-one-server.ts'
import { jwksOf, startProvider } from '../provider.ts'
import { aSigner } from '../signer.ts'

const clock = new FakeClock(Date.UTC(2026, 0, 2, 3, 4, 5))
const now = () => clock.now()
let desk: JwtDesk
beforeAll(async () => {
  desk = await openJwtDesk({ clock, now })
  await desk.configure({ accept_as_token: true, bound_issuer: issuer })
  await written(desk.root, 'sys/namespaces/team', {})
})
afterAll(() => desk[Symbol.asyncDispose]())

const withToken = (jwt: string, more: Headers = {}): Headers => ({ 'X-Vault-Token': jwt, ...more })
const asked = async (jwt = desk.jwt(), more: Headers = {}, path = 'kv/x') =>
  outcomeOf(await desk.ask(path, withToken(jwt, more)))
const served = [200, '', false]
const denied = [403, 'permission denied', false]

describe('a JWT as the token', () => {
  test('serves the request with the rights of the default role', async () => {
    expect((await desk.ask('kv/x', withToken(desk.jwt()))).body).toMatchObject({ data: { a: '1' } })
    expect((await desk.ask('kv/x', { Authorization: `Bearer ${desk.jwt()}` })).status).toBe(200)
    expect(await asked(desk.jwt(), {}, 'sys/mounts')).toEqual([
      403,
      '1 error occurred:\n\t* permission denied\n\n',
      false,
    ])
  })

  test('may name another role of the mount', async () => {
    await desk.role('other', { token_policies: ['default'] })

    expect(await asked(desk.jwt(), { 'X-Gatehouse-Role': 'DEV' })).toEqual(served)
    expect((await asked(desk.jwt(), { 'X-Gatehouse-Role': 'other' }))[0]).toBe(403)
    expect(await asked(desk.jwt(), { 'X-Gatehouse-Role': 'nope' })).toEqual(denied)
    expect(await asked(desk.jwt(), { 'X-Gatehouse-Role': ['dev', 'dev'] })).toEqual(denied)
  })

  test('may name a CEL role, which is also the default if no ordinary role has that name', async () => {
    const program =
      "claims.sub == 'joe' ? pb.Auth{policies: ['desk'], alias: logical.Alias{name: 'x'}} : 'no'"
    const celRole = (name: string, bound_audiences: string[]) =>
      written(desk.root, `auth/jwt/cel/role/${name}`, {
        bound_audiences,
        cel_program: { expression: program },
      })
    await celRole('prog', ['gate'])
    await celRole('unbound', [])
    const accepted = { accept_as_token: true, bound_issuer: issuer }

    expect(await asked(desk.jwt(), { 'X-Gatehouse-Role': 'CEL/Prog' })).toEqual(served)
    expect(await asked(desk.jwt({ sub: 'eve' }), { 'X-Gatehouse-Role': 'cel/prog' })).toEqual(denied)
    expect(await asked(desk.jwt(), { 'X-Gatehouse-Role': 'cel/dev' })).toEqual(denied)
    expect(await asked(desk.jwt(), { 'X-Gatehouse-Role': 'prog' })).toEqual(denied)
    expect(await asked(desk.jwt(), { 'X-Gatehouse-Role': 'cel/unbound' })).toEqual(denied)
    expect(await asked(desk.jwt({ cnf: {} }), { 'X-Gatehouse-Role': 'cel/prog' })).toEqual(denied)
    await desk.configure({ ...accepted, default_role: 'prog' })
    expect(await asked()).toEqual(served)
    const lookup = await desk.ask('auth/token/lookup-self', withToken(desk.jwt()))
    expect(lookup.body.data).toMatchObject({ path: 'auth/jwt/cel/login', id: expect.stringMatching(/^ey/) })
    await desk.configure(accepted)
  })

  testOfOneServer('reads nothing from the storage to find which kind its default role is', async () => {
    await using cel = await openJwtDesk({ clock, now })
    const accepted = { accept_as_token: true, bound_issuer: issuer }
    await cel.configure({ ...accepted, default_role: 'prog' })
    await written(cel.root, 'auth/jwt/cel/role/prog', {
      bound_audiences: ['gate'],
      cel_program: { expression: "pb.Auth{policies: ['desk'], alias: logical.Alias{name: 'x'}}" },
    })
    const ask = async () => (await cel.ask('kv/x', withToken(cel.jwt()))).status
    const misses = async () => {
      const { text } = await cel.root.read('/metrics')
      return /^gatehouse_cache_requests_total\{cache="login_roles",outcome="miss"\} (\d+)$/m.exec(text)?.[1]
    }
    expect(await ask()).toBe(200)
    const before = await misses()
    expect(before).toMatch(/^\d+$/)

    for (let count = 0; count < 5; count += 1) expect(await ask()).toBe(200)

    expect(await misses()).toBe(before)
    await cel.role('prog', { token_policies: ['none'] })
    expect(await ask()).toBe(403)
    await cel.root.delete('auth/jwt/role/prog')
    expect(await ask()).toBe(200)
  })

  test('is refused like an unknown token, whatever is wrong with it', async () => {
    const good = desk.jwt()
    const changed = `${good.slice(0, -2)}${good.endsWith('A') ? 'B' : 'A'}${good.slice(-1)}`
    const bad = [
      changed,
      desk.jwt({ iss: 'https://other.example.com' }),
      desk.jwt({ iss: undefined }),
      desk.jwt({ aud: 'other' }),
      desk.jwt({ exp: Math.floor(now() / 1000) - 1000 }),
      aSigner('ES256').sign({ iss: issuer, sub: 'joe', aud: 'gate', exp: Math.floor(now() / 1000) + 60 }),
    ]

    for (const jwt of bad) {
      const answer = await desk.ask('kv/x', withToken(jwt))
      expect([answer.status, answer.body]).toEqual([403, errors('permission denied')])
      expect(answer.headers['x-vault-inline-auth-failed']).toBeUndefined()
    }
  })

  test('is a token like any bad one for a mount that does not take it', async () => {
    await using off = await openJwtDesk({ clock, now })

    expect((await off.ask('kv/x', withToken(off.jwt()))).status).toBe(403)
  })

  test('does not go together with a login in the headers', async () => {
    expect((await desk.ask('kv/x', { ...desk.head(), ...withToken(desk.jwt()) })).status).toBe(400)
  })

  test('makes the entity and leaves neither token nor accessor', async () => {
    const accessors = async () => (await desk.root.list('auth/token/accessors')).body.data?.keys
    const before = await accessors()

    await desk.ask('kv/x', withToken(desk.jwt({ sub: 'fresh' })))

    const { accessor } = (await desk.root.read('sys/auth/jwt')).body.data ?? {}
    const found = await desk.root.write('identity/lookup/entity', {
      alias_name: 'fresh',
      alias_mount_accessor: accessor,
    })
    expect(found.status).toBe(200)
    expect(await accessors()).toEqual(before)
  })

  test('serves a request with a body over 64 KiB', async () => {
    const raw = JSON.stringify({ a: 'x'.repeat(70_000) })
    const post = (jwt: string) =>
      desk.anonymous.call('POST', 'kv/large', undefined, { headers: withToken(jwt), raw })

    expect((await post(desk.jwt())).status).toBe(204)
    expect((await post(desk.jwt({ aud: 'x' }))).status).toBe(403)
    expect((await desk.root.read('kv/large')).body.data).toEqual(JSON.parse(raw))
  })
})

describe('beyond a login, it must have', () => {
  test.each<[string, Record<string, unknown>, Record<string, unknown>, unknown[]]>([
    ['an end', { exp: undefined }, {}, denied],
    ['an end within a day', { exp: Math.floor(now() / 1000) + 86_401 }, {}, denied],
    [
      'an end within a day of now, without iat',
      { iat: undefined, exp: Math.floor(now() / 1000) + 86_401 },
      {},
      denied,
    ],
    ['no more than a day', { exp: Math.floor(now() / 1000) + 86_400 }, {}, served],
    ['no typ', {}, { typ: undefined }, served],
    ['typ jwt', {}, { typ: 'Jwt' }, served],
    ['typ at+jwt', {}, { typ: 'application/AT+JWT' }, served],
    ['typ jose', {}, { typ: 'JOSE' }, served],
    ['not typ logout+jwt', {}, { typ: 'logout+jwt' }, denied],
    ['not typ dpop+jwt', {}, { typ: 'dpop+jwt' }, denied],
    ['a typ that is a text', {}, { typ: 5 }, denied],
    ['no key that it is bound to', { cnf: { jkt: 'x' } }, {}, denied],
    ['not even null', { cnf: null }, {}, denied],
    ['a certificate that is proven', { cnf: { 'x5t#S256': 'x' } }, {}, denied],
    ['no authorization details', { authorization_details: [] }, {}, denied],
  ])('%s', async (_, claims, header, outcome) => {
    expect(await asked(desk.jwt(claims, header))).toEqual(outcome)
  })

  test('a role that binds audiences, and does not take a JWT once', async () => {
    await desk.role('open', { bound_audiences: [], bound_claims: { sub: 'joe' } })
    await desk.role('once', { token_replay_protection: true })

    expect(await asked(desk.jwt({ aud: undefined }), { 'X-Gatehouse-Role': 'open' })).toEqual(denied)
    expect(await asked(desk.jwt({ jti: '1' }), { 'X-Gatehouse-Role': 'once' })).toEqual(denied)
  })

  test('but a login asks none of these', async () => {
    const logIn = (claims: object, header = {}) =>
      desk.root.write('auth/jwt/login', { role: 'dev', jwt: desk.jwt({ ...claims }, header) })

    expect(
      (await logIn({ exp: Math.floor(now() / 1000) + 1e7, cnf: {} }, { typ: 'logout+jwt' })).status,
    ).toBe(200)
    expect((await desk.ask('kv/x', desk.head({ jwt: desk.jwt({ exp: undefined, cnf: {} }) }))).status).toBe(
      200,
    )
  })

  test('the lifetime that the mount allows', async () => {
    const config = { accept_as_token: true, bound_issuer: issuer }
    const jwt = desk.jwt({ exp: Math.floor(now() / 1000) + 1e6 })

    await desk.configure({ ...config, token_max_lifetime: 0 })
    expect(await asked(jwt)).toEqual(served)
    await desk.configure({ ...config, token_max_lifetime: '10m' })
    expect(await asked(desk.jwt())).toEqual(served)
    expect(await asked(desk.jwt({ exp: Math.floor(now() / 1000) + 601 }))).toEqual(denied)
    await desk.configure(config)
  })

  test('authorization details, if the mount requires them, which nothing can satisfy yet', async () => {
    await desk.configure({ accept_as_token: true, bound_issuer: issuer, require_authorization_details: true })
    expect(await asked()).toEqual(denied)
    await desk.configure({ accept_as_token: true, bound_issuer: issuer })
    expect(await asked()).toEqual(served)
  })
})

describe('the settings', () => {
  test('are always read back, and reset by a write without them', async () => {
    await desk.configure({ accept_as_token: true, bound_issuer: issuer, token_max_lifetime: '2h' })
    const read = async () => (await desk.root.read('auth/jwt/config')).body.data

    expect(await read()).toMatchObject({
      accept_as_token: true,
      token_max_lifetime: 7200,
      require_authorization_details: false,
    })
    await desk.configure({ bound_issuer: issuer })
    expect(await read()).toMatchObject({ accept_as_token: false, token_max_lifetime: 86_400 })
    expect(await asked()).toEqual(denied)
    await desk.configure({ accept_as_token: true, bound_issuer: issuer })
  })

  test('need an issuer', async () => {
    expect(outcomeOf(await desk.configure({ accept_as_token: true }))[1]).toBe(
      "'bound_issuer' must be set when 'accept_as_token' is set",
    )
  })

  test('take an issuer at one mount of a namespace only, of two writes at once one', async () => {
    const { jwt_validation_pubkeys } = (await desk.root.read('auth/jwt/config')).body.data ?? {}
    const config = (at: string, bound_issuer: string) =>
      desk.root.write(`${at}/config`, { jwt_validation_pubkeys, accept_as_token: true, bound_issuer })
    for (const mount of ['second', 'third']) await written(desk.root, `sys/auth/${mount}`, { type: 'jwt' })
    await written(desk.root, 'team/sys/auth/jwt', { type: 'jwt' })

    expect(outcomeOf(await config('auth/second', issuer))).toEqual([
      400,
      `tokens of issuer "${issuer}" are accepted by mount "auth/jwt/" already`,
      false,
    ])
    expect((await config('auth/second', `${issuer}/`)).status).toBe(204)
    expect((await config('team/auth/jwt', issuer)).status).toBe(204)
    const both = await Promise.all([
      config('auth/second', 'https://new'),
      config('auth/third', 'https://new'),
    ])
    expect(both.map(({ status }) => status).toSorted()).toEqual([204, 400])
    await desk.root.delete('sys/auth/second')
    await desk.root.delete('sys/auth/third')
    await desk.root.delete('team/sys/auth/jwt')
  })

  test('keep a mount out of a namespace in which another one takes the issuer', async () => {
    const { jwt_validation_pubkeys } = (await desk.root.read('auth/jwt/config')).body.data ?? {}
    const at = async (mount: string, bound_issuer: string) => {
      await written(desk.root, mount.replace('auth/', 'sys/auth/'), { type: 'jwt' })
      const config = { jwt_validation_pubkeys, accept_as_token: true, bound_issuer }
      await written(desk.root, `${mount}/config`, config)
    }
    await at('team/auth/same', issuer)
    await at('team/auth/another', 'https://another')
    const move = (name: string) =>
      desk.root.write('sys/remount', { from: `team/auth/${name}`, to: `auth/${name}` })

    expect(outcomeOf(await move('same'))).toEqual([
      400,
      `tokens of issuer "${issuer}" are accepted by mount "auth/jwt/" already`,
      false,
    ])
    expect((await move('another')).status).toBe(200)
    await expect.poll(async () => (await desk.root.read('sys/auth/another')).status).toBe(200)
    await desk.root.delete('sys/auth/another')
    await desk.root.delete('team/sys/auth/same')
  })

  test('a change counts with the next request', async () => {
    expect(await asked()).toEqual(served)
    await desk.role('dev', { token_policies: ['none'] })
    expect((await asked())[0]).toBe(403)
    await desk.role('dev')
    expect(await asked()).toEqual(served)
    await desk.configure({
      accept_as_token: true,
      bound_issuer: issuer,
      jwt_validation_pubkeys: [aSigner('ES256').pem],
    })
    expect(await asked()).toEqual(denied)
    await desk.configure({ accept_as_token: true, bound_issuer: issuer })
  })
})

describe('namespaces', () => {
  test('the nearest mount upwards takes it', async () => {
    const look = async () => (await desk.ask('team/auth/token/lookup-self', withToken(desk.jwt()))).body.data
    expect(await look()).toMatchObject({ display_name: 'jwt-joe' })

    await written(desk.root, 'team/sys/auth/near', { type: 'jwt' })
    const { jwt_validation_pubkeys } = (await desk.root.read('auth/jwt/config')).body.data ?? {}
    const config = { jwt_validation_pubkeys, bound_issuer: issuer, default_role: 'dev' }
    await written(desk.root, 'team/auth/near/role/dev', {
      role_type: 'jwt',
      user_claim: 'sub',
      bound_audiences: 'gate',
    })
    await written(desk.root, 'team/auth/near/config', config)
    expect(await look()).toMatchObject({ display_name: 'jwt-joe' })
    await written(desk.root, 'team/auth/near/config', { ...config, accept_as_token: true })
    expect(await look()).toMatchObject({ display_name: 'team-auth-near-joe', namespace_path: 'team/' })
    expect((await desk.ask('auth/token/lookup-self', withToken(desk.jwt()))).body.data).toMatchObject({
      display_name: 'jwt-joe',
    })

    await desk.root.delete('team/sys/auth/near')
    expect(await look()).toMatchObject({ display_name: 'jwt-joe' })
  })
})

describe('what clients see', () => {
  beforeAll(async () => {
    const everything = 'path "*" { capabilities = ["create", "read", "update", "delete", "list", "sudo"] }'
    await written(desk.root, 'sys/policies/acl/everything', { policy: everything })
    await desk.role('all', { token_policies: ['everything'], token_ttl: '1h' })
  })
  const all = (jwt: string) => withToken(jwt, { 'X-Gatehouse-Role': 'all' })
  const post = async (path: string, body: object = {}, jwt = desk.jwt()) =>
    outcomeOf(await desk.ask(path, all(jwt), { method: 'POST', body }))

  test('lookup-self shows the JWT with its own times', async () => {
    const jwt = desk.jwt()
    clock.advance(60)
    const seconds = Math.floor(now() / 1000)

    const { data } = (await desk.ask('auth/token/lookup-self', all(jwt))).body

    expect(data).toMatchObject({
      id: jwt,
      accessor: '',
      type: 'batch',
      renewable: false,
      orphan: true,
      num_uses: 0,
      creation_time: seconds - 60,
      creation_ttl: 600,
      ttl: 540,
      path: 'auth/jwt/login',
      policies: ['default', 'everything'],
    })
    expect(Date.parse(String(data?.issue_time)) / 1000).toBe(seconds - 60)
    expect(Date.parse(String(data?.expire_time)) / 1000).toBe(seconds + 540)
  })

  test('a JWT in the last moments of its leeway has no time left', async () => {
    const jwt = desk.jwt({ exp: Math.floor(now() / 1000) - 20 })

    expect((await desk.ask('auth/token/lookup-self', all(jwt))).body.data).toMatchObject({ ttl: 0 })
  })

  test('it can be neither renewed nor revoked, and has no children and no cubbyhole', async () => {
    const jwt = desk.jwt()

    expect(await post('auth/token/renew-self')).toEqual([400, 'batch tokens cannot be renewed', false])
    expect(await post('auth/token/renew', { token: jwt }, jwt)).toEqual([
      400,
      'batch tokens cannot be renewed',
      false,
    ])
    expect(await post('auth/token/revoke-self')).toEqual([400, 'batch tokens cannot be revoked', false])
    expect(await post('auth/token/create')).toEqual([
      400,
      'batch tokens cannot create more tokens; a JWT used as a token cannot have child tokens: set skip_child_token = true in the Terraform provider',
      false,
    ])
    expect((await post('cubbyhole/x', { a: '1' }))[0]).toBe(400)
  })

  test('named in a body it is an unknown token', async () => {
    const jwt = desk.jwt()

    expect(await post('auth/token/lookup', { token: jwt }, jwt)).toEqual([403, 'bad token', false])
    expect(await post('sys/capabilities', { token: jwt, paths: ['x'] }, jwt)).toEqual([
      400,
      '1 error occurred:\n\t* invalid token\n\n',
      false,
    ])
  })

  test('open paths show more to its caller, or ignore it', async () => {
    expect((await desk.ask('sys/internal/ui/mounts/kv', all(desk.jwt()))).status).toBe(200)
    expect(
      (await desk.ask('sys/internal/ui/authenticated-messages', all(desk.jwt({ aud: 'x' })))).status,
    ).toBe(200)
    const login = await desk.ask('auth/jwt/login', all(desk.jwt({ aud: 'x' })), {
      method: 'POST',
      body: { role: 'dev', jwt: desk.jwt() },
    })
    expect(login.status).toBe(200)
  })

  test('a disabled entity stops it', async () => {
    const jwt = desk.jwt({ sub: 'leaver' })
    const { data } = (await desk.ask('auth/token/lookup-self', all(jwt))).body
    await desk.root.write(`identity/entity/id/${data?.entity_id}/revoke-tokens`)
    expect(await asked(jwt)).toEqual(served)

    await desk.root.write(`identity/entity/id/${data?.entity_id}`, { disabled: true })

    expect(await asked(jwt)).toEqual(denied)
  })

  testOfOneServer('429 stays what it is', async () => {
    await written(desk.root, 'sys/quotas/rate-limit/rule', { path: 'auth/jwt', rate: 1, interval: '10m' })
    const first = await asked()
    const second = await asked()
    await desk.root.delete('sys/quotas/rate-limit/rule')

    expect([first, second]).toEqual([
      served,
      [429, 'request path "auth/jwt/login": rate limit quota exceeded', false],
    ])
  })

  test('keys that cannot be had are 503', async () => {
    const provider = await startProvider({ '/jwks': jwksOf(aSigner('ES256')) })
    await written(desk.root, 'sys/auth/away', { type: 'jwt' })
    await written(desk.root, 'auth/away/role/dev', {
      role_type: 'jwt',
      user_claim: 'sub',
      bound_audiences: 'gate',
    })
    const away = { jwks_url: `${provider.url}/jwks`, bound_issuer: 'https://away', default_role: 'dev' }
    await written(desk.root, 'auth/away/config', { ...away, accept_as_token: true })
    await provider.stop()

    expect(await asked(desk.jwt({ iss: 'https://away' }))).toEqual([
      503,
      'permission cannot be checked: keys of the provider are unavailable',
      false,
    ])
  })
})

describe('the operator finds a refusal by the id of its request', () => {
  testOfOneServer('in failures and in explain', async () => {
    const before = (await desk.root.read('auth/jwt/failures')).body.data?.failures?.length ?? 0
    await desk.ask('kv/x', withToken(desk.jwt({}, { typ: 'logout+jwt' })))
    const { failures } = (await desk.root.read('auth/jwt/failures')).body.data ?? {}

    expect(Number(failures?.length)).toBeGreaterThan(Number(before) - 1)
    expect(failures?.[0]).toMatchObject({
      path: 'login',
      reason: 'type_unexpected',
      status: 403,
      inline: true,
      as_token: true,
      verified: true,
    })
    const explained = await desk.root.write('auth/jwt/explain', { request_id: failures?.[0]?.request_id })
    expect(explained.body.data).toMatchObject({ allowed: false, reason: 'type_unexpected' })
  })

  test('explain judges a JWT as a token', async () => {
    const explain = async (more: object) =>
      (
        await desk.root.write('auth/jwt/explain', {
          role: 'dev',
          jwt: desk.jwt({ cnf: { jkt: 'x' } }),
          ...more,
        })
      ).body.data

    await desk.root.write('auth/jwt/cel/role/any', { cel_program: { expression: 'pb.Auth{}' } })

    expect(await explain({})).toMatchObject({ allowed: true })
    expect(await explain({ role: 'cel/any', jwt: desk.jwt() })).toMatchObject({ allowed: true })
    expect(await explain({ role: 'cel/any', jwt: desk.jwt(), as_token: true })).toMatchObject({
      allowed: false,
      reason: 'audience_unbound',
      checks: expect.arrayContaining([expect.objectContaining({ name: 'audience', verdict: 'fail' })]),
    })
    await desk.configure({ accept_as_token: true, bound_issuer: issuer, default_role: 'any' })
    expect(await explain({ role: '', jwt: desk.jwt(), as_token: true })).toMatchObject({
      allowed: false,
      role: 'any',
      reason: 'audience_unbound',
    })
    await desk.configure({ accept_as_token: true, bound_issuer: issuer })
    expect(await explain({ as_token: true })).toMatchObject({
      allowed: false,
      reason: 'proof_missing',
      status: 403,
      checks: expect.arrayContaining([expect.objectContaining({ name: 'proof', verdict: 'fail' })]),
    })
  })
})
