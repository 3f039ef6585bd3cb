import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Answer } from '../support/client.ts'
import { errors, invalidToken } from '../support/error-bodies.ts'
import { serversInTurn } from '../support/of-one-server.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { head, openWire } from './wire.ts'

const ours = 'https://app.example.com'
const other = 'https://evil.example.com'
const self = 'auth/token/lookup-self'
let server: TestServer

beforeAll(async () => {
  server = await startTestServer({ settings: { MAX_REQUEST_SIZE: '1000' } })
})
afterAll(() => server[Symbol.asyncDispose]())

const serve = async (settings: object) => {
  expect((await server.root.write('sys/config/cors', settings)).status).toBe(204)
  await known()
}
const stop = async () => {
  expect((await server.root.delete('sys/config/cors')).status).toBe(204)
  await known()
}
/** Every server has read what was written: some responses, like that of `sys/health`, do not wait for it. */
async function known() {
  for (let read = 0; read < serversInTurn; read++) await server.root.read('sys/config/cors')
}
const from = (origin: string, headers: Record<string, string> = {}) => ({
  headers: { Origin: origin, ...headers },
})
const preflight = (path: string, method: string | undefined, origin = ours) =>
  server.anonymous.call(
    'OPTIONS',
    path,
    undefined,
    from(origin, method === undefined ? {} : { 'Access-Control-Request-Method': method }),
  )
const corsHeaders = ({ headers }: Answer) =>
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => name.startsWith('access-control-') || name === 'vary'),
  )

const forPages = {
  'access-control-allow-origin': ours,
  'access-control-expose-headers': 'ETag, X-Next-Change-At',
  vary: 'Origin',
}

describe('while no origin is configured', () => {
  beforeEach(stop)

  test.each([self, 'sys/health', '/health/live'])(
    'the origin of a request for %s is ignored',
    async (path) => {
      const answer = await server.root.read(path, from(other))

      expect(answer.status).toBe(200)
      expect(corsHeaders(answer)).toEqual({})
    },
  )

  test('a preflight is an unsupported verb', async () => {
    const answer = await preflight(self, 'GET')

    expect(answer).toMatchObject({
      status: 400,
      body: errors('cannot handle internal-only request operation'),
    })
    expect(corsHeaders(answer)).toEqual({})
  })
})

describe('an origin that is configured', () => {
  beforeEach(() => serve({ allowed_origins: [ours, 'http://localhost:3000'] }))

  test.each([
    { name: 'an answer', path: self, status: 200 },
    { name: 'health', path: 'sys/health', status: 200 },
    { name: 'liveness', path: '/health/live', status: 200 },
    { name: 'a refusal', path: 'auth/jwt/role/none', status: 404 },
    { name: 'no such path', path: 'nope', status: 404 },
    { name: 'a verb that is not offered', method: 'DELETE', path: self, status: 405 },
    { name: 'a verb nobody knows', method: 'PROPFIND', path: self, status: 405 },
    {
      name: 'a done thing',
      method: 'POST',
      path: 'sys/policies/acl/x',
      body: { policy: 'path "x" { capabilities = ["read"] }' },
      status: 204,
    },
    { name: 'a list', method: 'LIST', path: 'sys/policies/acl', status: 200 },
    { name: 'a target that is tidied', path: '/v1//sys/health', status: 307 },
    { name: 'robots.txt', path: '/robots.txt', status: 200 },
    { name: 'an answer settled by the head', path: '/v1', status: 404 },
    {
      name: 'a path of the node in a namespace',
      path: 'sys/health',
      headers: { 'X-Vault-Namespace': 'a' },
      status: 400,
    },
    {
      name: 'a namespace that is not there',
      path: self,
      headers: { 'X-Vault-Namespace': 'nope' },
      status: 404,
    },
    { name: 'what no letter is', path: '/v1/%00', status: 400 },
    {
      name: 'a body that is too large',
      method: 'POST',
      path: self,
      body: { long: 'x'.repeat(1000) },
      status: 413,
    },
    { name: 'a body that is no JSON', method: 'POST', path: self, body: 'text', status: 400 },
    { name: 'the API document', path: 'sys/internal/specs/openapi', status: 200 },
    { name: 'a page', path: '/docs/', status: 200 },
  ])('may read $name', async ({ method = 'GET', path, body, headers, status }) => {
    const answer = await server.root.call(method, path, body, from(ours, headers))

    expect(answer.status).toBe(status)
    expect(corsHeaders(answer)).toEqual(forPages)
  })

  test('has the bytes that the client sent, also beyond ASCII', async () => {
    await serve({ allowed_origins: '*' })
    const origin = Buffer.from('https://büro.example').toString('latin1')
    using wire = await openWire(server.url)

    wire.send(head('GET', '/v1/sys/health', [`Origin: ${origin}`]))

    expect((await wire.answer())?.headers['access-control-allow-origin']).toBe(origin)
  })

  test('may read that its token is not accepted', async () => {
    const answer = await server.as('hvs.nothing').read(self, from(ours))

    expect(answer).toMatchObject({ status: 403, body: invalidToken })
    expect(corsHeaders(answer)).toEqual(forPages)
  })

  test('may read messages, and 304 responses, with all headers in Vary', async () => {
    const path = 'sys/internal/ui/unauthenticated-messages'
    const vary = 'X-Vault-Token, X-Vault-Namespace, Authorization, Origin'

    const first = await server.anonymous.read(path, from(ours))
    const again = await server.anonymous.read(
      path,
      from(ours, { 'If-None-Match': String(first.headers.etag) }),
    )

    expect(first).toMatchObject({ status: 200, headers: { ...forPages, vary } })
    expect(again).toMatchObject({ status: 304, headers: { ...forPages, vary } })
  })

  test('is any one of the list', async () => {
    expect(corsHeaders(await server.root.read(self, from('http://localhost:3000')))).toMatchObject({
      'access-control-allow-origin': 'http://localhost:3000',
    })
  })

  test('does not affect requests without an origin', async () => {
    expect(corsHeaders(await server.root.read(self))).toEqual({})
    expect((await server.root.read(self, from(''))).status).toBe(200)
  })
})

describe('an origin that is not configured', () => {
  beforeEach(() => serve({ allowed_origins: ours }))

  test.each([
    { name: 'another host', origin: other },
    { name: 'another scheme', origin: 'http://app.example.com' },
    { name: 'a port', origin: `${ours}:443` },
    { name: 'a slash behind', origin: `${ours}/` },
    { name: 'other letters', origin: 'https://APP.example.com' },
    { name: 'longer', origin: `${ours}.evil.example.com` },
    { name: 'shorter', origin: 'https://app.example.co' },
    { name: 'a host below', origin: 'https://a.app.example.com' },
    { name: 'of a sandbox', origin: 'null' },
    { name: 'the wildcard', origin: '*' },
    { name: 'two', origin: `${ours}, ${other}` },
    { name: 'no text of ASCII', origin: 'https://\u00e9.example.com' },
    { name: 'very long', origin: `https://${'a'.repeat(30_000)}.example.com` },
  ])('is refused: $name', async ({ origin }) => {
    const answer = await server.root.read(self, from(origin))

    expect(answer).toMatchObject({ status: 403, body: errors('origin not allowed') })
    expect(corsHeaders(answer)).toEqual({})
  })

  test.each([
    self,
    'nope',
    'sys/internal/ui/unauthenticated-messages',
    'sys/internal/ui/authenticated-messages',
    'sys/health',
    'sys/seal-status',
    'sys/init',
    'sys/leader',
    '/health',
    '/health/live',
    '/health/ready',
    '/docs/',
    '/robots.txt',
    '/v1//sys/health',
    'auth/jwt/role/x?help=1',
  ])('is refused at %s', async (path) => {
    for (const client of [server.root, server.anonymous]) {
      expect(await client.read(path, from(other))).toMatchObject({
        status: 403,
        body: errors('origin not allowed'),
      })
    }
  })

  test.each(['POST', 'PUT', 'DELETE', 'LIST', 'SCAN', 'HELP', 'PATCH', 'PROPFIND'])(
    'is refused with %s, and the request has no effect',
    async (verb) => {
      expect(
        await server.root.call(verb, 'sys/policies/acl/made', { policy: '' }, from(other)),
      ).toMatchObject({ status: 403 })
      expect((await server.root.read('sys/policies/acl/made')).status).toBe(404)
    },
  )

  test('gets no body in response to HEAD', async () => {
    expect(await server.root.call('HEAD', self, undefined, from(other))).toMatchObject({
      status: 403,
      text: '',
    })
  })

  test('is refused right after the checks of the target', async () => {
    expect((await server.root.read('/v1', from(other))).status).toBe(404)
    expect((await server.root.read('sys/health', from(other, { 'X-Vault-Namespace': 'a' }))).status).toBe(400)
  })

  test('leaves the connection usable for the next request', async () => {
    using wire = await openWire(server.url)
    wire.send(
      head('POST', '/v1/sys/policies/acl/made', [`Origin: ${other}`], '{"policy":""}') +
        head('GET', '/v1/sys/health'),
    )

    expect((await wire.answers(2)).map(({ status }) => status)).toEqual([403, 200])
  })
})

describe('a preflight', () => {
  beforeEach(() => serve({ allowed_origins: [ours], allowed_headers: ['X-Mine', 'x-vault-token'] }))

  test.each(['GET', 'POST', 'PUT', 'DELETE', 'LIST', 'SCAN', 'OPTIONS', 'PATCH'])(
    'for %s is answered',
    async (method) => {
      const answer = await preflight(self, method)

      expect(answer).toMatchObject({ status: 200, text: '' })
      expect(corsHeaders(answer)).toEqual({
        ...forPages,
        'access-control-allow-methods': 'DELETE,GET,OPTIONS,POST,PUT,LIST,SCAN,PATCH',
        'access-control-allow-headers':
          'Content-Type,Authorization,X-Vault-Token,X-Vault-MFA,X-Vault-No-Request-Forwarding,X-Vault-Wrap-Format,X-Vault-Wrap-TTL,' +
          'X-Requested-With,X-Vault-AWS-IAM-Server-ID,X-Vault-Policy-Override,X-Vault-Namespace,If-None-Match,X-Mine',
        'access-control-max-age': '300',
      })
    },
  )

  test.each(['PROPFIND', 'get', 'HEAD', '', 'GET,POST', undefined])('for %s gets nothing', async (method) => {
    const answer = await preflight(self, method)

    expect(answer).toMatchObject({ status: 405, text: '' })
    expect(corsHeaders(answer)).toEqual({})
  })

  test.each([
    'nope',
    'sys/health',
    '/health/live',
    '/v1//sys/health',
    '/docs/',
    'auth/jwt/config?help=1',
    '/v1/nope/auth/jwt/config',
  ])('is answered for %s too, because the target is checked later', async (path) => {
    expect(await preflight(path, 'GET')).toMatchObject({ status: 200, text: '' })
  })

  test('is refused for another origin', async () => {
    const answer = await preflight(self, 'GET', other)

    expect(answer).toMatchObject({ status: 403, body: errors('origin not allowed') })
    expect(corsHeaders(answer)).toEqual({})
  })

  test('is not recognised without an origin', async () => {
    expect(await server.anonymous.call('OPTIONS', self)).toMatchObject({ status: 400 })
  })
})

describe('the wildcard', () => {
  beforeEach(() => serve({ allowed_origins: '*', allow_credentials: true }))

  test.each([ours, other, 'null'])('lets %s in by its name', async (origin) => {
    const answer = await server.root.read(self, from(origin))

    expect(answer.status).toBe(200)
    expect(corsHeaders(answer)).toEqual({
      ...forPages,
      'access-control-allow-origin': origin,
      'access-control-allow-credentials': 'true',
    })
  })

  test('allows credentials in a preflight too', async () => {
    expect(corsHeaders(await preflight(self, 'GET'))).toMatchObject({
      'access-control-allow-credentials': 'true',
    })
  })
})

test('a sealed server still checks origins', async () => {
  await using sealed = await startTestServer()
  await sealed.root.write('sys/config/cors', { allowed_origins: ours })
  expect((await sealed.root.write('sys/seal')).status).toBe(204)

  const allowed = await sealed.root.read(self, from(ours))

  expect(allowed).toMatchObject({ status: 503, body: errors('Vault is sealed') })
  expect(corsHeaders(allowed)).toEqual(forPages)
  expect((await sealed.root.read(self, from(other))).status).toBe(403)
})
