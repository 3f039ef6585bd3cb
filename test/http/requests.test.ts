import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Json } from '../support/client.ts'
import { caused, errors, errorText, invalidToken, notAccepted } from '../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { head, openWire } from './wire.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
  for (const name of ['a', 'b', 'c']) {
    await server.root.write(`auth/jwt/role/${name}`, {
      role_type: 'jwt',
      user_claim: 'sub',
      bound_audiences: ['x'],
    })
  }
})
afterAll(() => server[Symbol.asyncDispose]())

const roles = 'auth/jwt/role'
const self = 'auth/token/lookup-self'

describe('verbs', () => {
  test.each(['POST', 'PUT'])('%s takes its fields from the body only', async (verb) => {
    const { body } = await server.root.call(verb, 'sys/capabilities-self?paths=q&zz=1', { paths: 'b' })

    expect(body.data).toEqual({ b: ['root'], capabilities: ['root'] })
    expect(body.warnings).toBeNull()
  })

  test.each(['1', 't', 'T', 'TRUE', 'true', 'True'])('list=%s is a list', async (value) => {
    expect((await server.root.read(`${roles}?list=${value}`)).body.data).toEqual({ keys: ['a', 'b', 'c'] })
  })

  test.each(['', '0', 'f', 'F', 'FALSE', 'false', 'False'])('list=%s is a read', async (value) => {
    expect((await server.root.read(`${roles}?list=${value}`)).status).toBe(405)
  })

  test.each(['yes', 'TrUe', '2', 'tru', ' true', 'null'])('list=%s is ignored', async (value) => {
    expect(await server.root.read(`${roles}?list=${encodeURIComponent(value)}`)).toMatchObject({
      status: 400,
      body: errors(),
    })
  })

  test.each([
    { query: 'list=true&list=false', status: 200 },
    { query: 'list=false&list=true', status: 405 },
    { query: 'List=true', status: 405 },
    { query: 'list=true&scan=false', status: 200 },
  ])('?$query: the first value counts, in lower case', async ({ query, status }) => {
    expect((await server.root.read(`${roles}?${query}`)).status).toBe(status)
  })

  test('the verb LIST keeps a list parameter, GET does not', async () => {
    expect((await server.root.call('LIST', `${roles}?list=true`)).body.warnings).toEqual([
      'Endpoint ignored these unrecognized parameters: [list]',
    ])
    expect((await server.root.read(`${roles}?list=true`)).body.warnings).toBeNull()
  })

  test.each([
    { query: 'list=false', name: 'list' },
    { query: 'scan=0&list=', name: 'list scan' },
    { query: '?list=true', name: '?list' },
  ])('a read with ?$query names what it ignores', async ({ query, name }) => {
    expect((await server.root.read(`${self}?${query}`)).body.warnings).toEqual([
      `Endpoint ignored these unrecognized parameters: [${name}]`,
    ])
  })

  test.each([
    { query: 'after=a', keys: ['b', 'c'] },
    { query: 'limit=2', keys: ['a', 'b'] },
    { query: 'after=a&limit=1', keys: ['b'] },
    { query: 'limit=0', keys: ['a', 'b', 'c'] },
    { query: 'limit=-1', keys: ['a', 'b', 'c'] },
    { query: 'limit=max', keys: ['a', 'b', 'c'] },
    { query: 'after=', keys: ['a', 'b', 'c'] },
  ])('a list supports $query', async ({ query, keys }) => {
    expect((await server.root.call('LIST', `${roles}?${query}`)).body.data).toEqual({ keys })
  })

  test('a list that starts after its end is 404, and a limit that is not a number is refused', async () => {
    expect((await server.root.call('LIST', `${roles}?after=c`)).status).toBe(404)
    expect(errorText((await server.root.call('LIST', `${roles}?limit=x`)).body)).toMatch(
      /^Field validation failed: error converting input for field "limit"/,
    )
  })

  test.each(['FOO', 'LISTS', 'PROPFIND', 'SEARCH', 'REPORT', 'SOURCE', 'TRACE', 'LINK'])(
    '%s is 405, with or without a token',
    async (verb) => {
      for (const client of [server.root, server.anonymous])
        expect(await client.call(verb, self)).toMatchObject({ status: 405, body: errors() })
    },
  )

  test('the body of a deletion is read and ignored', async () => {
    expect((await server.root.call('DELETE', 'cubbyhole/x', undefined, { raw: 'no JSON {' })).status).toBe(
      204,
    )
  })
})

describe('from URL to path', () => {
  test.each([
    { path: '/v1//sys/mounts', location: '/v1/sys/mounts' },
    { path: '/v1/sys//mounts/', location: '/v1/sys/mounts/' },
    { path: '/v1/./sys/mounts', location: '/v1/sys/mounts' },
    { path: '/v1/cloud/../sys/mounts?a=%2F', location: '/v1/sys/mounts?a=%2F' },
    { path: '/v1/../../..//x', location: '/x' },
    { path: '/./\\evil.example', location: '/%5Cevil.example' },
    { path: '/.//evil.example', location: '/evil.example' },
  ])('$path is redirected to $location, whatever the verb', async ({ path, location }) => {
    for (const verb of ['GET', 'POST', 'LIST', 'DELETE']) {
      expect(await server.anonymous.call(verb, path)).toMatchObject({
        status: 307,
        headers: { location },
        text: '',
      })
    }
  })

  test.each([
    { path: '/v1/auth%2Ftoken%2Flookup-self', status: 200 },
    { path: '/v1/auth/token/lookup%2Dself', status: 200 },
    { path: '/auth/token/lookup-self', status: 200 },
    { path: '/v1/AUTH/token/lookup-self', status: 404 },
    { path: '/V1/auth/token/lookup-self', status: 404 },
    { path: '/v1/auth/token/lookup-self/', status: 404 },
    { path: '/v1/auth/token/lookup+self', status: 404 },
    { path: '//v1/auth/token/lookup-self', status: 404 },
    { path: '/', status: 404 },
    { path: '/robots.txt', status: 200 },
    { path: '/v1/..a/b', status: 404 },
    { path: '/v1/auth%2f%2e%2e%2fsys', status: 400 },
    { path: '/v1/auth/%7F', status: 400 },
    { path: '/v1/auth/%E2%80%AE', status: 400 },
    { path: '/v1/auth/%C2%A0', status: 400 },
    { path: '/v1/auth/%', status: 400 },
    { path: '/v1/auth/%4g', status: 400 },
    { path: '/constructor', status: 404 },
    { path: '/__proto__', status: 404 },
    { path: '/v1/auth/jwt/role/__proto__', status: 404 },
    { path: '/v1/auth/jwt/role/constructor', status: 404 },
    { path: '/-/node/seal', status: 404 },
    { path: '/v1/-/none', status: 404 },
  ])('GET $path is $status', async ({ path, status }) => {
    expect((await server.root.read(path)).status).toBe(status)
  })

  test('robots are excluded', async () => {
    const { text, headers } = await server.anonymous.read('/robots.txt')

    expect(text).toBe('User-agent: *\nDisallow: /\n')
    expect(headers['content-type']).toMatch(/^text\/plain/)
  })

  test.each(['/v1/', '/'])('a target with scheme and host counts by its path: %s', async (base) => {
    using wire = await openWire(server.url)
    wire.send(head('LIST', `http://elsewhere.example${base}sys/policies/acl`, ['X-Vault-Token: root']))

    expect((await wire.answer())?.status).toBe(200)
  })
})

const bodyOf = (answer: { body: string } | undefined): Json =>
  JSON.parse(Buffer.from(answer?.body ?? '', 'latin1').toString())

describe('headers', () => {
  test.each<{ name: string; headers: Record<string, string>; status: number }>([
    { name: 'blanks around the token', headers: { 'X-Vault-Token': '  root\t' }, status: 200 },
    {
      name: 'an empty one gives way to Authorization',
      headers: { 'X-Vault-Token': '', Authorization: 'Bearer root' },
      status: 200,
    },
    {
      name: 'one of blanks too',
      headers: { 'X-Vault-Token': '   ', Authorization: 'Bearer root' },
      status: 200,
    },
    {
      name: 'a bad one does not',
      headers: { 'X-Vault-Token': 'bad', Authorization: 'Bearer root' },
      status: 403,
    },
    { name: 'Basic is nobody', headers: { Authorization: 'Basic cm9vdA==' }, status: 403 },
    { name: 'Bearer without a token', headers: { Authorization: 'Bearer ' }, status: 403 },
    { name: 'Bearer with two blanks', headers: { Authorization: 'Bearer  root' }, status: 200 },
    {
      name: 'headers nobody needs',
      headers: {
        'X-Vault-Token': 'root',
        'X-Vault-Request': 'no',
        'X-Vault-Index': 'x',
        'X-Vault-Forward': 'y',
      },
      status: 200,
    },
  ])('$name: $status', async ({ headers, status }) => {
    const answer = await server.anonymous.call('GET', self, undefined, { headers })

    expect(answer.status).toBe(status)
    if (status === 403) expect(answer.body).toEqual('X-Vault-Token' in headers ? invalidToken : notAccepted)
  })

  test('the first of two tokens counts', async () => {
    for (const [lines, status] of [
      [['X-Vault-Token: root', 'X-Vault-Token: bad'], 200],
      [['X-Vault-Token: bad', 'X-Vault-Token: root'], 403],
      [['Authorization: Basic x', 'Authorization: Bearer root'], 200],
    ] as const) {
      using wire = await openWire(server.url)
      wire.send(head('GET', `/v1/${self}`, [...lines]))
      expect((await wire.answer())?.status).toBe(status)
    }
  })

  test.each([
    { name: 'X-Vault-Token', line: (id: string) => `X-Vault-Token: ${id}` },
    { name: 'Authorization', line: (id: string) => `Authorization: Bearer ${id}` },
  ])('a token with non-ASCII letters is read from $name as UTF-8', async ({ name, line }) => {
    // its last letter ends with the byte of a no-break space
    const id = `tökén-日-${name}à`
    await server.root.write('auth/token/create', { id, policies: ['default'] })
    using wire = await openWire(server.url)

    wire.send(head('GET', `/v1/${self}`, [line(Buffer.from(id).toString('latin1'))]))

    expect(bodyOf(await wire.answer())).toMatchObject({ data: { id } })
  })

  test('the first of two namespaces counts, and is echoed', async () => {
    await server.root.write('sys/namespaces/twice')
    for (const [sent, status] of [
      [['twice', 'twice'], 200],
      [['twice', 'nope'], 200],
      [['nope', 'twice'], 404],
      [['nope, twice'], 404],
    ] as const) {
      using wire = await openWire(server.url)
      wire.send(
        head('GET', '/v1/sys/auth', [
          'X-Vault-Token: root',
          ...sent.map((name) => `X-Vault-Namespace: ${name}`),
        ]),
      )
      const answer = await wire.answer()
      expect([answer?.status, answer?.headers['x-vault-namespace']]).toEqual([status, sent[0]])
    }
  })

  test('the first of two wrap TTLs counts', async () => {
    for (const [sent, ttl] of [
      [['60', '90'], 60],
      [['0', '90'], undefined],
    ] as const) {
      using wire = await openWire(server.url)
      wire.send(
        head('GET', `/v1/${self}`, [
          'X-Vault-Token: root',
          ...sent.map((value) => `X-Vault-Wrap-TTL: ${value}`),
        ]),
      )
      expect(bodyOf(await wire.answer()).wrap_info?.ttl).toBe(ttl)
    }
  })

  test.each([
    { value: 'method', status: 200, text: undefined },
    { value: 'method:value', status: 200, text: undefined },
    { value: ':value', status: 400, text: 'missing method name or ID' },
    { value: 'method:', status: 400, text: 'missing method value' },
  ])('X-Vault-MFA: $value is $status', async ({ value, status, text }) => {
    const answer = await server.root.read(self, { headers: { 'X-Vault-MFA': value } })

    expect(answer.status).toBe(status)
    if (text !== undefined)
      expect(errorText(answer.body)).toBe(
        `failed to parse X-Vault-MFA header: invalid data in header "X-Vault-MFA"; ${text}`,
      )
  })

  test.each(['root', '/', 'root/', '//', ''])(
    'the namespace %j is the root, and is echoed as sent',
    async (name) => {
      const answer = await server.root.read(self, { headers: { 'X-Vault-Namespace': name } })

      expect(answer.status).toBe(200)
      expect(answer.headers['x-vault-namespace']).toBe(name === '' ? undefined : name)
    },
  )

  test.each(['nope', 'root/a', 'Root', 'a/b', '__proto__'])(
    'the namespace %j does not exist',
    async (name) => {
      expect(await server.root.read(self, { headers: { 'X-Vault-Namespace': name } })).toMatchObject({
        status: 404,
        body: errors(`no handler for route "${name}/${self}". route entry not found.`),
      })
    },
  )

  test('a server that reports a version without +ent says so in plain words', async () => {
    await using community = await startTestServer({ settings: { REPORTED_VERSION: '1.17.0' } })

    expect(await community.root.read(self, { headers: { 'X-Vault-Namespace': 'nope' } })).toMatchObject({
      status: 404,
      body: errors('namespace not found'),
    })
  })

  test('X-Vault-Wrap-TTL of 0 and an empty one wrap nothing', async () => {
    for (const value of ['0', '', '0s'])
      expect((await server.root.read(self, { headers: { 'X-Vault-Wrap-TTL': value } })).status).toBe(200)
  })
})

describe('help', () => {
  test.each(['?help=1', '?help=x&list=true'])(
    'GET with %s returns a text and the description of that path, without an envelope',
    async (query) => {
      const { status, body } = await server.root.read(`auth/jwt/role/a${query}`)

      expect(status).toBe(200)
      expect(body).toEqual({
        help: expect.stringContaining('bound_audiences'),
        see_also: null,
        openapi: expect.objectContaining({ openapi: '3.1.0' }),
      })
    },
  )

  test('HELP does the same, and needs a token except on a login path, but no right', async () => {
    const created = await server.root.write('auth/token/create', { policies: ['default'] })
    const user = server.as(String(created.body.auth?.client_token))

    expect((await user.call('HELP', 'auth/jwt/role/a')).status).toBe(200)
    expect(await server.anonymous.call('HELP', 'auth/jwt/role/a')).toMatchObject({
      status: 403,
      body: notAccepted,
    })
    expect((await server.anonymous.call('HELP', 'auth/jwt/login')).status).toBe(200)
    expect((await user.call('HELP', 'nope')).body).toEqual(
      errors('no handler for route "nope". route entry not found.'),
    )
    expect((await user.call('HELP', 'cloud/nope')).body).toEqual(errors(caused('unsupported path')))
    expect((await server.root.read('auth/jwt/role/none?help=')).status).toBe(404)
  })
})

test.each([
  'GET sys/mounts',
  'GET nope',
  'POST auth/jwt/login',
  'DELETE cubbyhole/a',
  'LIST sys/policies/acl',
  'PUT sys/seal',
  'FOO x',
  'GET sys/health',
])('every response has its headers: %s', async (line) => {
  const [verb = '', path = ''] = line.split(' ')
  const client = path === 'sys/seal' ? server.anonymous : server.root
  const { headers } = await client.call(verb, path)

  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'strict-transport-security': 'max-age=31536000; includeSubDomains',
    date: expect.any(String),
  })
  expect(headers).not.toHaveProperty('x-powered-by')
  expect(headers).not.toHaveProperty('server')
})
