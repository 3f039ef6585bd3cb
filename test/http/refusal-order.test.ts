import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client } from '../support/client.ts'
import { caused, errors, invalidToken, notAllowed } from '../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'

let server: TestServer
let reader: Client

beforeAll(async () => {
  server = await startTestServer({ settings: { MAX_REQUEST_SIZE: '1KiB' } })
  await server.root.write('sys/policies/acl/reader', {
    policy: 'path "auth/jwt/role/*" { capabilities = ["read"] }',
  })
  const created = await server.root.write('auth/token/create', { policies: ['reader'] })
  reader = server.as(String(created.body['auth']?.['client_token']))
})
afterAll(() => server[Symbol.asyncDispose]())

/**
 * What is wrong with a request, in the order of docs/contract/http.md#the-order-of-refusals; each is refused
 * before those behind it.
 */
const large = Buffer.alloc(2048, ' ')
const bad = { 'X-Vault-Token': 'bad' }
const elsewhere = { 'X-Vault-Namespace': 'nope' }

type Pair = {
  first: string
  beats: string
  ask: [string, string]
  headers?: Record<string, string>
  raw?: string | Buffer
  status: number
  body: object
}

const pairs: Pair[] = [
  {
    first: 'body too large',
    beats: 'a path that is none',
    ask: ['POST', '/v1'],
    raw: large,
    status: 413,
    body: errors('http: request body too large'),
  },
  {
    first: 'body too large',
    beats: 'node-level path in a namespace',
    ask: ['POST', 'sys/seal'],
    headers: elsewhere,
    raw: large,
    status: 413,
    body: errors('http: request body too large'),
  },
  {
    first: 'body too large',
    beats: 'wrong verb',
    ask: ['POST', 'sys/health'],
    raw: large,
    status: 413,
    body: errors('http: request body too large'),
  },
  {
    first: 'body too large',
    beats: 'write to a folder',
    ask: ['POST', 'auth/jwt/role/'],
    raw: large,
    status: 413,
    body: errors('http: request body too large'),
  },
  {
    first: 'node-level path in a namespace',
    beats: 'wrong verb',
    ask: ['DELETE', 'sys/health'],
    headers: elsewhere,
    status: 400,
    body: errors('operation unavailable in namespaces'),
  },
  {
    first: 'a path that is none',
    beats: 'a verb nobody offers',
    ask: ['FOO', '/v1'],
    status: 404,
    body: errors(),
  },
  {
    first: 'a verb nobody offers',
    beats: 'wrap TTL',
    ask: ['FOO', 'nope'],
    headers: { 'X-Vault-Wrap-TTL': 'abc' },
    status: 405,
    body: errors(),
  },
  {
    first: 'list value',
    beats: 'relative path',
    ask: ['GET', 'a/%2e%2e/b?list=x'],
    status: 400,
    body: errors(),
  },
  {
    first: 'body syntax',
    beats: 'wrap TTL',
    ask: ['POST', 'nope'],
    raw: '{',
    headers: { 'X-Vault-Wrap-TTL': 'abc' },
    status: 400,
    body: errors('failed to parse JSON input: unexpected EOF'),
  },
  {
    first: 'body syntax',
    beats: 'namespace',
    ask: ['POST', 'nope'],
    raw: '{',
    headers: elsewhere,
    status: 400,
    body: errors('failed to parse JSON input: unexpected EOF'),
  },
  {
    first: 'patch type',
    beats: 'write to a folder',
    ask: ['PATCH', 'a/'],
    raw: '{}',
    headers: { 'Content-Type': 'application/json' },
    status: 415,
    body: errors('PATCH requires Content-Type of application/merge-patch+json, provided application/json'),
  },
  {
    first: 'wrap TTL',
    beats: 'MFA',
    ask: ['GET', 'nope'],
    headers: { 'X-Vault-Wrap-TTL': 'abc', 'X-Vault-MFA': ':x' },
    status: 400,
    body: errors('error parsing X-Vault-Wrap-TTL header: time: invalid duration "abc"'),
  },
  {
    first: 'MFA',
    beats: 'relative path',
    ask: ['GET', 'a/%2e%2e/b'],
    headers: { 'X-Vault-MFA': ':x' },
    status: 400,
    body: errors(
      'failed to parse X-Vault-MFA header: invalid data in header "X-Vault-MFA"; missing method name or ID',
    ),
  },
  {
    first: 'relative path',
    beats: 'namespace',
    ask: ['GET', 'a/%2e%2e/b'],
    headers: elsewhere,
    status: 400,
    body: errors('relative paths not supported'),
  },
  {
    first: 'relative path',
    beats: 'write to a folder',
    ask: ['POST', 'a/%2e/'],
    status: 400,
    body: errors('relative paths not supported'),
  },
  {
    first: 'namespace',
    beats: 'write to a folder',
    ask: ['POST', 'auth/jwt/role/'],
    headers: elsewhere,
    status: 404,
    body: errors('no handler for route "nope/auth/jwt/role/". route entry not found.'),
  },
  {
    first: 'namespace',
    beats: 'token',
    ask: ['GET', 'nope'],
    headers: { ...elsewhere, ...bad },
    status: 404,
    body: errors('no handler for route "nope/nope". route entry not found.'),
  },
  {
    first: 'write to a folder',
    beats: 'token',
    ask: ['POST', 'auth/jwt/role/'],
    headers: bad,
    status: 400,
    body: errors("cannot write to a path ending in '/'"),
  },
  {
    first: 'preflight',
    beats: 'token',
    ask: ['OPTIONS', 'nope'],
    headers: bad,
    status: 400,
    body: errors('cannot handle internal-only request operation'),
  },
  {
    first: 'a token that is no text',
    beats: 'token',
    ask: ['POST', 'auth/token/lookup'],
    raw: '{"token":1}',
    headers: bad,
    status: 403,
    body: errors('invalid token'),
  },
  {
    first: 'token',
    beats: 'conversion',
    ask: ['POST', 'auth/jwt/role/r'],
    raw: '{"max_age":true}',
    headers: bad,
    status: 403,
    body: invalidToken,
  },
  { first: 'token', beats: 'no mount', ask: ['GET', 'nope'], headers: bad, status: 403, body: invalidToken },
]

test.each(pairs)(
  '"$first" is refused before "$beats"',
  async ({ ask: [method, path], headers = {}, raw, status, body }) => {
    const answer = await server.anonymous.call(method, path, undefined, {
      headers,
      ...(raw === undefined ? {} : { raw }),
    })

    expect({ status: answer.status, body: answer.body }).toEqual({ status, body })
  },
)

test.each([
  { first: 'rights', beats: 'no mount', ask: ['GET', 'nope'], status: 403, body: notAllowed },
  { first: 'rights', beats: 'unknown path', ask: ['GET', 'cloud/nope'], status: 403, body: notAllowed },
  {
    first: 'rights',
    beats: 'field validation',
    ask: ['GET', 'sys/policies/acl?list=true&limit=x'],
    status: 403,
    body: notAllowed,
  },
])('"$first" is checked before "$beats"', async ({ ask: [method = '', path = ''], status, body }) => {
  const answer = await reader.call(method, path)

  expect({ status: answer.status, body: answer.body }).toEqual({ status, body })
})

test("fields are converted before the operation's rights are checked, but not for a caller without write access", async () => {
  await server.root.write('sys/policies/acl/creator', {
    policy: 'path "auth/jwt/role/*" { capabilities = ["create"] }',
  })
  const created = await server.root.write('auth/token/create', { policies: ['creator'] })
  const creator = server.as(String(created.body['auth']?.['client_token']))
  await server.root.write('auth/jwt/role/known', {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: ['x'],
  })

  const wrong = { max_age: true }
  expect((await creator.write('auth/jwt/role/known', wrong)).status).toBe(400)
  expect((await creator.write('auth/jwt/role/known', {})).body).toEqual(notAllowed)
  expect((await reader.write('auth/jwt/role/known', wrong)).body).toEqual(notAllowed)
})

describe('what a sealed server still serves', () => {
  test.each<{
    name: string
    ask: string[]
    headers: Record<string, string>
    raw: string
    status: number
    body: object | undefined
  }>([
    { name: 'a path that is none', ask: ['GET', '/v1'], headers: {}, raw: '', status: 404, body: errors() },
    { name: 'a verb nobody offers', ask: ['FOO', 'nope'], headers: {}, raw: '', status: 405, body: errors() },
    { name: 'body syntax', ask: ['POST', 'nope'], headers: {}, raw: '[]x', status: 400, body: undefined },
    {
      name: 'wrap TTL',
      ask: ['GET', 'nope'],
      headers: { 'X-Vault-Wrap-TTL': '-1' },
      raw: '',
      status: 400,
      body: undefined,
    },
    {
      name: 'relative path',
      ask: ['GET', 'a/%2e%2e/b'],
      headers: {},
      raw: '',
      status: 400,
      body: errors('relative paths not supported'),
    },
    {
      name: 'sealed before an unknown namespace',
      ask: ['GET', 'nope'],
      headers: elsewhere,
      raw: '',
      status: 503,
      body: errors('Vault is sealed'),
    },
    {
      name: 'sealed before a write to a folder',
      ask: ['POST', 'a/'],
      headers: {},
      raw: '',
      status: 503,
      body: errors('Vault is sealed'),
    },
    {
      name: 'sealed before a preflight',
      ask: ['OPTIONS', 'a'],
      headers: {},
      raw: '',
      status: 503,
      body: errors('Vault is sealed'),
    },
    {
      name: 'sealed before a bad token',
      ask: ['GET', 'a'],
      headers: bad,
      raw: '',
      status: 503,
      body: errors('Vault is sealed'),
    },
    {
      name: 'sealed before a login',
      ask: ['POST', 'auth/jwt/login'],
      headers: {},
      raw: '{"jwt":"x"}',
      status: 503,
      body: errors('Vault is sealed'),
    },
  ])('$name', async ({ ask: [method = '', path = ''], headers, raw, status, body }) => {
    await using sealed = await startTestServer()
    expect((await sealed.root.call('PUT', 'sys/seal')).status).toBe(204)

    const answer = await sealed.anonymous.call(method, path, undefined, { headers, raw })

    expect(answer.status).toBe(status)
    if (body !== undefined) expect(answer.body).toEqual(body)
  })
})

describe('a limited token pays for its requests', () => {
  test.each([
    { name: 'one that is refused for its rights', ask: ['GET', 'nope'], cost: 1 },
    { name: 'one that cannot be converted', ask: ['POST', 'auth/jwt/role/r', { max_age: true }], cost: 1 },
    { name: 'a write to a folder', ask: ['POST', 'cubbyhole/a/'], cost: 0 },
    { name: 'a body that is no JSON', ask: ['POST', 'cubbyhole/a', undefined, '{'], cost: 0 },
    { name: 'a login path', ask: ['POST', 'auth/jwt/login', { jwt: 'x' }], cost: 0 },
  ])('$name costs $cost', async ({ ask: [method, path, body, raw], cost }) => {
    const created = await server.root.write('auth/token/create', { policies: ['default'], num_uses: 5 })
    const token = created.body['auth']?.['client_token']
    await server
      .as(String(token))
      .call(String(method), String(path), body, raw === undefined ? {} : { raw: String(raw) })

    const looked = await server.root.write('auth/token/lookup', { token })

    expect(looked.body['data']?.['num_uses']).toBe(5 - cost)
  })

  test('the last use yields one response, and then the token is gone', async () => {
    const created = await server.root.write('auth/token/create', { policies: ['default'], num_uses: 1 })
    const last = server.as(String(created.body['auth']?.['client_token']))

    expect((await last.read('auth/token/lookup-self')).status).toBe(200)
    expect((await last.read('auth/token/lookup-self')).body).toEqual(invalidToken)
  })
})

test('a refusal for lack of rights and one of the token have different texts', async () => {
  expect((await reader.read('sys/auth')).body).toEqual(errors(caused('permission denied')))
  expect((await server.anonymous.read('sys/auth')).body).toEqual(errors('permission denied'))
})
