import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { invalidTokenText } from '../../support/error-bodies.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { aSigner } from '../jwt-auth/signer.ts'
import { verdict } from './login-mount.ts'
import { aPerson, type Person, saidBy } from './person.ts'

const oidc = 'identity/oidc'
const unsupported = '1 error occurred:\n\t* unsupported operation\n\n'
const unknownPath = '1 error occurred:\n\t* unsupported path\n\n'
const denied = '1 error occurred:\n\t* permission denied\n\n'

let server: TestServer
let bob: Person
let made = 0
const fresh = (what: string) => `${what}${++made}`

beforeAll(async () => {
  server = await startTestServer()
  bob = await aPerson(server)
})
afterAll(() => server[Symbol.asyncDispose]())

async function aKey(settings: object = {}): Promise<string> {
  const name = fresh('key')
  const made = await server.root.write(`${oidc}/key/${name}`, {
    algorithm: 'ES256',
    allowed_client_ids: '*',
    ...settings,
  })
  expect(made.status).toBe(204)
  return name
}

async function aRole(key: string, settings: object = {}): Promise<string> {
  const name = fresh('role')
  expect(verdict(await server.root.write(`${oidc}/role/${name}`, { key, ...settings }))).toBe('204')
  return name
}

async function aToken(role: string, { client }: Person = bob): Promise<string> {
  const { body } = await client.read(`${oidc}/token/${role}`)
  return String(body.data?.token)
}

const publishedIds = async (): Promise<unknown[]> => {
  const { body } = await server.anonymous.read(`${oidc}/.well-known/keys`)
  return Array.from(body.keys as unknown as { kid: unknown }[], ({ kid }) => kid)
}

describe('verbs of the paths', () => {
  test.each([
    ['GET', 'key', unsupported, 405],
    ['GET', 'role', unsupported, 405],
    ['DELETE', 'config', unsupported, 405],
    ['POST', 'token/r', unsupported, 405],
    ['GET', 'introspect', unsupported, 405],
    ['GET', 'key/default/rotate', unsupported, 405],
    ['GET', 'key/a.', unknownPath, 404],
    ['GET', 'scope/a', unknownPath, 404],
    ['GET', 'provider/default', unknownPath, 404],
    ['POST', 'client/c', unknownPath, 404],
    ['LIST', 'assignment', unknownPath, 404],
    ['GET', 'provider/default/.well-known/keys', unknownPath, 404],
    ['LIST', 'key/default', unknownPath, 404],
  ])('%s %s', async (verb, path, text, status) => {
    expect(verdict(await server.root.call(verb, `${oidc}/${path}`))).toBe(`${status} ${text}`)
  })

  test('unknown paths and verbs below .well-known are refused without asking for a token', async () => {
    expect(verdict(await server.anonymous.read(`${oidc}/.well-known/other`))).toBe('404 unsupported path')
    expect(verdict(await server.anonymous.write(`${oidc}/.well-known/keys`, {}))).toBe(
      '405 unsupported operation',
    )
  })
})

describe('config', () => {
  test('the issuer is read as written, kept if nothing is sent, and removed by ""', async () => {
    await using own = await startTestServer()
    const warning = /^If "issuer" is set explicitly, all tokens must be validated against that address, /

    expect((await own.root.read(`${oidc}/config`)).body.data).toEqual({ issuer: '' })
    const written = await own.root.write(`${oidc}/config`, { issuer: 'https://gate.example.com:8200' })
    expect([written.status, String(written.body.warnings?.[0])]).toEqual([
      200,
      expect.stringMatching(warning),
    ])
    expect((await own.root.write(`${oidc}/config`, {})).status).toBe(204)
    expect((await own.root.read(`${oidc}/config`)).body.data).toEqual({
      issuer: 'https://gate.example.com:8200',
    })
    expect((await own.anonymous.read(`${oidc}/.well-known/openid-configuration`)).body.issuer).toBe(
      'https://gate.example.com:8200/v1/identity/oidc',
    )
    expect(verdict(await own.root.write(`${oidc}/config`, { issuer: 'https://h/' }))).toMatch(
      /^400 invalid issuer, which must include only a scheme/,
    )
    expect((await own.root.call('PUT', `${oidc}/config`, { issuer: '' })).status).toBe(204)
    expect((await own.anonymous.read(`${oidc}/.well-known/openid-configuration`)).body.issuer).toBe(
      `${own.url}/v1/identity/oidc`,
    )
  })

  test('without an issuer it is the configured address', async () => {
    await using own = await startTestServer({ settings: { API_ADDR: 'https://gate.example.com/' } })

    expect((await own.anonymous.read(`${oidc}/.well-known/openid-configuration`)).body.issuer).toBe(
      'https://gate.example.com/v1/identity/oidc',
    )
  })

  test('an issuer that is not a text is refused', async () => {
    expect(verdict(await server.root.write(`${oidc}/config`, { issuer: ['a'] }))).toMatch(
      /^400 Field validation failed: error converting input for field "issuer"/,
    )
  })
})

describe('keys', () => {
  test('are read as written, with defaults, and without private parts', async () => {
    const name = fresh('key')

    expect((await server.root.write(`${oidc}/key/${name}`, {})).status).toBe(204)
    const { text, body } = await server.root.read(`${oidc}/key/${name}`)
    expect(body.data).toEqual({
      algorithm: 'RS256',
      rotation_period: 86_400,
      verification_ttl: 86_400,
      allowed_client_ids: [],
    })
    expect(text).not.toMatch(/"d"|private|kid/)
    await server.root.write(`${oidc}/key/${name}`, { rotation_period: '3h', allowed_client_ids: 'a,b,a' })
    expect((await server.root.read(`${oidc}/key/${name}`)).body.data).toEqual({
      algorithm: 'RS256',
      rotation_period: 10_800,
      verification_ttl: 86_400,
      allowed_client_ids: ['a', 'b', 'a'],
    })
  })

  test('the key default exists from the start', async () => {
    await using own = await startTestServer()

    expect((await own.root.list(`${oidc}/key`)).body.data?.keys).toEqual(['default'])
    expect((await own.root.read(`${oidc}/key/default`)).body.data).toEqual({
      algorithm: 'RS256',
      rotation_period: 86_400,
      verification_ttl: 86_400,
      allowed_client_ids: ['*'],
    })
    expect(verdict(await own.root.delete(`${oidc}/key/default`))).toBe(
      '400 deletion of key "default" not allowed',
    )
    expect(verdict(await own.root.write(`${oidc}/key/default/rotate`, {}))).toBe('204')
    expect((await own.root.write(`${oidc}/key/default`, { allowed_client_ids: 'x' })).status).toBe(204)
    expect((await own.root.read(`${oidc}/key/default`)).body.data).toMatchObject({
      algorithm: 'RS256',
      allowed_client_ids: ['x'],
    })
  })

  test('names are case-sensitive and listed in order', async () => {
    await using own = await startTestServer()
    for (const name of ['b', 'A', 'a']) await own.root.write(`${oidc}/key/${name}`, { algorithm: 'EdDSA' })

    expect((await own.root.list(`${oidc}/key`)).body.data?.keys).toEqual(['A', 'a', 'b', 'default'])
  })

  test('refuse invalid settings', async () => {
    const name = await aKey()
    const write = async (body: object) => verdict(await server.root.write(`${oidc}/key/${name}`, body))

    expect(await write({ rotation_period: '59s' })).toBe('400 rotation_period must be at least one minute')
    expect(await write({ rotation_period: '1m', verification_ttl: '601s' })).toBe(
      '400 verification_ttl cannot be longer than 10x rotation_period',
    )
    expect(await write({ algorithm: 'rs256' })).toBe('400 unknown signing algorithm "rs256"')
    expect(await write({ rotation_period: 'soon' })).toMatch(
      /^400 error converting input for field "rotation_period"/,
    )
    expect(verdict(await server.root.write(`${oidc}/key/nobody/rotate`, {}))).toBe(
      '400 no named key found at "nobody"',
    )
    expect(verdict(await server.root.write(`${oidc}/key/${name}/rotate`, { verification_ttl: 'x' }))).toMatch(
      /^400 Field validation failed: error converting input for field "verification_ttl"/,
    )
  })

  test('a key in use cannot be deleted, and its verification_ttl stays long enough for its roles', async () => {
    const name = await aKey()
    const [b, a] = [await aRole(name, { ttl: '2h' }), await aRole(name, { ttl: '1h' })].sort().reverse()

    expect(verdict(await server.root.delete(`${oidc}/key/${name}`))).toBe(
      `400 unable to delete key "${name}" because it is currently referenced by these roles: ${a}, ${b}`,
    )
    expect(verdict(await server.root.write(`${oidc}/key/${name}`, { verification_ttl: '119m' }))).toBe(
      `400 unable to update key "${name}" because it is currently referenced by one or more roles with a token ttl greater than 7140 seconds`,
    )
    expect(verdict(await server.root.write(`${oidc}/key/${name}`, { verification_ttl: '2h' }))).toBe('204')
    for (const role of [a, b]) expect(verdict(await server.root.delete(`${oidc}/role/${role}`))).toBe('204')
    expect(verdict(await server.root.delete(`${oidc}/key/${name}`))).toBe('204')
    expect(verdict(await server.root.delete(`${oidc}/key/${name}`))).toBe('204')
    expect(verdict(await server.root.read(`${oidc}/key/${name}`))).toBe('404 ')
  })
})

describe('roles', () => {
  test('are read as written, with a random audience unless one is named', async () => {
    const key = await aKey()
    const [role, other] = [
      await aRole(key),
      await aRole(key, { client_id: 'mine', ttl: '5m', template: '{"a": 1}' }),
    ]
    const read = async (name: string) => (await server.root.read(`${oidc}/role/${name}`)).body.data

    const first = await read(role)
    expect(first).toEqual({
      key,
      ttl: 86_400,
      template: '',
      client_id: expect.stringMatching(/^[0-9A-Za-z]{26}$/),
    })
    expect(await read(other)).toEqual({ key, ttl: 300, template: '{"a": 1}', client_id: 'mine' })
    await server.root.write(`${oidc}/role/${role}`, {
      ttl: 60,
      template: Buffer.from('{"b": 2}').toString('base64'),
    })
    expect(await read(role)).toEqual({ ...first, ttl: 60, template: '{"b": 2}' })
    await server.root.write(`${oidc}/role/${role}`, { client_id: '' })
    expect((await read(role))?.client_id).not.toEqual(first?.client_id)
  })

  test('refuse invalid requests in this order', async () => {
    const key = await aKey({ verification_ttl: '1h' })
    const name = fresh('role')
    const write = async (body: object) => verdict(await server.root.write(`${oidc}/role/${name}`, body))

    expect(await write({ template: '[' })).toBe('400 the key parameter is required')
    expect(await write({ key: '' })).toBe('400 the key parameter is required')
    expect(await write({ key: 'nobody', template: '[' })).toMatch(/^400 error parsing template JSON: /)
    expect(await write({ key: 'nobody', ttl: '61m' })).toBe('400 cannot find key "nobody"')
    const tooLong =
      "400 a role's token ttl cannot be longer than the verification_ttl of the key it references"
    expect(await write({ key })).toBe(tooLong)
    expect(await write({ key, ttl: '61m' })).toBe(tooLong)
    expect(await write({ key, ttl: '1h', template: '{"sub": 1}' })).toMatch(
      /^400 top level key "sub" not allowed\. /,
    )
    expect(await write({ key, ttl: 'soon' })).toMatch(/^400 error converting input for field "ttl"/)
    expect(verdict(await server.root.read(`${oidc}/role/${name}`))).toBe('404 ')
    expect(await write({ key, ttl: '1h' })).toBe('204')
    expect(await write({ ttl: '61m' })).toBe(tooLong)
  })

  test('a role that moves to another key releases the former one', async () => {
    const [one, two] = [await aKey(), await aKey()]
    const role = await aRole(one)

    await server.root.write(`${oidc}/role/${role}`, { key: two })

    expect(verdict(await server.root.delete(`${oidc}/key/${one}`))).toBe('204')
    expect(verdict(await server.root.delete(`${oidc}/key/${two}`))).toMatch(/^400 unable to delete key/)
  })

  test('without any role, nothing is listed and no key is published', async () => {
    await using own = await startTestServer()
    const keys = await own.anonymous.read(`${oidc}/.well-known/keys`)

    expect(verdict(await own.root.list(`${oidc}/role`))).toBe('404 ')
    expect([keys.text, keys.headers['cache-control']]).toEqual(['{"keys":[]}', 'no-store'])
  })
})

describe('tokens', () => {
  test('have the expected header and claims, and the response describes them', async () => {
    const role = await aRole(await aKey(), {
      ttl: '10m',
      client_id: 'app',
      template: '{"who": {{identity.entity.aliases.nobody.name}} }',
    })

    const { status, body } = await bob.client.read(`${oidc}/token/${role}`)

    expect([status, body.data?.client_id, body.data?.ttl, body.warnings]).toEqual([200, 'app', 600, null])
    const { header, claims } = saidBy(String(body.data?.token))
    expect(header).toEqual({ alg: 'ES256', kid: expect.stringMatching(/^[0-9a-f-]{36}$/) })
    expect(claims).toEqual({
      iss: `${server.url}/v1/identity/oidc`,
      sub: bob.entityId,
      aud: 'app',
      iat: expect.any(Number),
      exp: Number(claims['iat']) + 600,
      namespace: 'root',
      who: '',
    })
    expect(await publishedIds()).toContain(header['kid'])
  })

  test('contain claims of the person and of its groups, direct or inherited', async () => {
    const dave = await aPerson(server, { sub: 'dave' })
    await server.root.write(`identity/entity/id/${dave.entityId}`, {
      name: 'Dave "D"',
      metadata: { team: 'red' },
    })
    const inner = await server.root.write('identity/group', {
      name: 'inner',
      member_entity_ids: [dave.entityId],
    })
    await server.root.write('identity/group', {
      name: 'outer',
      member_group_ids: [String(inner.body.data?.id)],
    })
    const person = '"n": {{identity.entity.name}}, "m": {{identity.entity.metadata}}'
    const role = await aRole(await aKey(), {
      template: `{${person}, "g": {{identity.entity.groups.names}} }`,
    })

    const { claims } = saidBy(await aToken(role, dave))

    expect(claims).toMatchObject({
      n: 'Dave "D"',
      m: { team: 'red' },
      g: expect.arrayContaining(['inner', 'outer']),
    })
  })

  test('contain claims of the login alias', async () => {
    const alias = `identity.entity.aliases.${bob.accessor}`
    const role = await aRole(await aKey(), {
      template: `{"name": {{${alias}.name}}, "team": {{${alias}.metadata.team}}, "all": {{${alias}.metadata}} }`,
    })

    expect(saidBy(await aToken(role)).claims).toMatchObject({
      name: 'bob',
      team: 'blue',
      all: { role: 'r', team: 'blue' },
    })
  })

  test('refuse invalid requests in this order', async () => {
    const [closed, open] = [await aRole(await aKey({ allowed_client_ids: '' })), await aRole(await aKey())]
    const ask = async (role: string, client = server.root) =>
      verdict(await client.read(`${oidc}/token/${role}`))

    expect(await ask('nobody')).toBe('400 role "nobody" not found')
    expect(await ask(closed)).toMatch(
      new RegExp(
        `^400 the key "key\\d+" does not list the client ID of the role "${closed}" as an allowed client ID$`,
      ),
    )
    expect(await ask(open)).toBe("400 no entity associated with the request's token")
    expect(await ask(open, server.anonymous)).toBe('403 permission denied')
    expect(await ask(open, bob.client)).toBe('200')
  })

  test('create and update are distinguished, and reading requires read', async () => {
    const role = await aRole(await aKey())
    await server.root.write('sys/policies/acl/narrow', {
      policy: `path "identity/oidc/key/+" { capabilities = ["create"] }\npath "identity/oidc/role/+" { capabilities = ["update"] }`,
    })
    const { body } = await server.root.write('auth/token/create', { policies: ['narrow'] })
    const client = server.as(String(body.auth?.client_token))
    const key = fresh('key')

    expect(verdict(await client.write(`${oidc}/key/${key}`, { algorithm: 'EdDSA' }))).toBe('204')
    expect(verdict(await client.write(`${oidc}/key/${key}`, { algorithm: 'EdDSA' }))).toBe(`403 ${denied}`)
    expect(verdict(await client.write(`${oidc}/key/default`, {}))).toBe(`403 ${denied}`)
    expect(verdict(await client.write(`${oidc}/role/${fresh('role')}`, { key }))).toBe(`403 ${denied}`)
    expect(verdict(await client.write(`${oidc}/role/${role}`, { ttl: '1h' }))).toBe('204')
    expect(verdict(await client.read(`${oidc}/token/${role}`))).toBe(`403 ${denied}`)
  })
})

describe('introspection', () => {
  const check = async (body: object): Promise<string> => {
    const answer = await server.root.write(`${oidc}/introspect`, body)
    expect([answer.status, answer.headers['content-type'], answer.headers['cache-control']]).toEqual([
      200,
      'application/json',
      'no-store',
    ])
    return JSON.stringify(answer.body)
  }
  const inactive = (error: string) => JSON.stringify({ active: false, error })

  test('a valid token is active, also for the requested audience', async () => {
    const token = await aToken(await aRole(await aKey(), { client_id: 'app' }))

    expect(await check({ token })).toBe('{"active":true}')
    expect(await check({ token, client_id: 'app' })).toBe('{"active":true}')
    expect(await check({ token, client_id: 'other' })).toMatch(
      /^{"active":false,"error":"error validating claims: /,
    )
  })

  test('a text that is not a token, or not signed by us, is inactive', async () => {
    const token = await aToken(await aRole(await aKey()))
    const { header, claims } = saidBy(token)
    const kid = String(header['kid'])
    const foreign = aSigner('ES256', { kid })
    const unsigned = `${Buffer.from(JSON.stringify({ alg: 'none', kid })).toString('base64url')}.${token.split('.')[1]}.`

    for (const text of ['x', '', 'a.b.c', `${token}.x`, unsigned, 'x'.repeat(600_000)]) {
      expect(await check({ token: text })).toMatch(/^{"active":false,"error":"error parsing token: /)
    }
    expect(await check({})).toMatch(/^{"active":false,"error":"error parsing token: /)
    const noSignature = inactive('unable to validate the token signature')
    expect(await check({ token: `${token.slice(0, -8)}AAAAAAAA` })).toBe(noSignature)
    expect(await check({ token: foreign.sign(claims) })).toBe(noSignature)
    expect(await check({ token: foreign.sign(claims, { kid: 'unknown' }) })).toBe(noSignature)
    expect(await check({ token: foreign.sign(claims, { kid: undefined }) })).toBe(noSignature)
  })

  test('a key that no role uses any more verifies nothing', async () => {
    const role = await aRole(await aKey())
    const token = await aToken(role)

    await server.root.delete(`${oidc}/role/${role}`)

    expect(await check({ token })).toBe(inactive('unable to validate the token signature'))
    expect(await publishedIds()).not.toContain(saidBy(token).header['kid'])
  })

  test('the token of a disabled or deleted person is inactive', async () => {
    const carol = await aPerson(server, { sub: 'carol' })
    const role = await aRole(await aKey())
    const token = await aToken(role, carol)
    const ask = async () => verdict(await carol.client.read(`${oidc}/token/${role}`))

    await server.root.write(`identity/entity/id/${carol.entityId}`, { disabled: true })
    expect([await check({ token }), await ask()]).toEqual([
      inactive('entity is disabled'),
      '403 permission denied',
    ])
    await server.root.write(`identity/entity/id/${carol.entityId}`, { disabled: false })
    expect([await check({ token }), await ask()]).toEqual(['{"active":true}', '200'])
    await server.root.delete(`identity/entity/id/${carol.entityId}`)
    expect([await check({ token }), await ask()]).toEqual([
      inactive('entity was not found'),
      `403 ${invalidTokenText}`,
    ])
  })

  test('tokens stay active for a minute after they expire, and not a second longer', async () => {
    const clock = new FakeClock()
    await using own = await startTestServer({ clock })
    const { client } = await aPerson(own)
    await own.root.write(`${oidc}/key/k`, {
      algorithm: 'ES256',
      allowed_client_ids: '*',
      rotation_period: '1h',
      verification_ttl: '1h',
    })
    await own.root.write(`${oidc}/role/r`, { key: 'k', ttl: 10 })
    const token = String((await client.read(`${oidc}/token/r`)).body.data?.token)

    clock.advance(69)
    expect((await own.root.write(`${oidc}/introspect`, { token })).body).toEqual({ active: true })
    clock.advance(1)
    expect(String((await own.root.write(`${oidc}/introspect`, { token })).body.error)).toMatch(
      /^error validating claims: /,
    )
  })

  test('after a change of the issuer, tokens of the former one are inactive', async () => {
    await using own = await startTestServer()
    const { client } = await aPerson(own)
    await own.root.write(`${oidc}/key/k`, { algorithm: 'ES256', allowed_client_ids: '*' })
    await own.root.write(`${oidc}/role/r`, { key: 'k' })
    const token = String((await client.read(`${oidc}/token/r`)).body.data?.token)

    await own.root.write(`${oidc}/config`, { issuer: 'https://elsewhere.example.com' })

    const { body } = await own.root.write(`${oidc}/introspect`, { token })
    expect(String(body.error)).toMatch(/^error validating claims: /)
  })

  test('introspection requires a token that may use it', async () => {
    const { body } = await server.root.write('auth/token/create', { policies: ['default'] })

    expect(verdict(await server.anonymous.write(`${oidc}/introspect`, {}))).toBe('403 permission denied')
    expect(verdict(await server.as(String(body.auth?.client_token)).write(`${oidc}/introspect`, {}))).toBe(
      `403 ${denied}`,
    )
  })
})

describe('what anyone can read', () => {
  test('the discovery document is public, with or without a trailing slash, whatever token is sent', async () => {
    const { status, headers, body } = await server.anonymous.read(`${oidc}/.well-known/openid-configuration`)

    expect([status, headers['content-type'], headers['cache-control']]).toEqual([
      200,
      'application/json',
      'max-age=3600',
    ])
    expect(body).toEqual({
      issuer: `${server.url}/v1/identity/oidc`,
      jwks_uri: `${server.url}/v1/identity/oidc/.well-known/keys`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'EdDSA'],
    })
    expect((await server.anonymous.read(`${oidc}/.well-known/openid-configuration/`)).body).toEqual(body)
    expect((await server.as('hvs.nonsense').read(`${oidc}/.well-known/openid-configuration`)).status).toBe(
      200,
    )
  })

  test('the keys are public, two per named key, and cacheable for an hour at most', async () => {
    const before = (await publishedIds()).length
    const key = await aKey()
    expect((await publishedIds()).length).toBe(before)
    await aRole(key)

    const { headers, text } = await server.anonymous.read(`${oidc}/.well-known/keys/`)

    expect((await publishedIds()).length).toBe(before + 2)
    expect(headers['cache-control']).toBe('max-age=3600')
    expect(text).not.toMatch(/"(?:d|p|q|dp|dq|qi|k)":/)
  })
})

test('concurrent first uses of the key default create it once', async () => {
  await using own = await startTestServer()

  const written = await Promise.all(
    Array.from({ length: 8 }, (_, index) => own.root.write(`${oidc}/role/r${index}`, { key: 'default' })),
  )

  expect(written.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 204))
  const { body } = await own.anonymous.read(`${oidc}/.well-known/keys`)
  expect(Object.keys(body.keys ?? {}).length).toBe(2)
})
