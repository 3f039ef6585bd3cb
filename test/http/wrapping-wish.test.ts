import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startIssuer } from '../../simulators/ci-issuer/issuer.ts'
import type { Answer, CallOptions } from '../support/client.ts'
import { caused, errors, notAllowed } from '../support/error-bodies.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { testOfOneServer } from '../support/of-one-server.ts'
import { many } from '../support/rounds.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server[Symbol.asyncDispose]())

const wish = (ttl = '60'): CallOptions => ({ headers: { 'X-Vault-Wrap-TTL': ttl } })
const unwrapped = (answer: Answer) =>
  server.root.write('sys/wrapping/unwrap', { token: String(answer.body.wrap_info?.token) })
const wrappedLogin = async (issuer: Awaited<ReturnType<typeof startIssuer>>, ttl: string) => {
  await server.root.write('auth/jwt/config', { oidc_discovery_url: issuer.url })
  await server.root.write('auth/jwt/role/ci', {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: 'gatehouse',
  })
  const jwt = await issuer.signPipeline('github', { aud: 'gatehouse' })
  const login = await server.anonymous.write('auth/jwt/login', { role: 'ci', jwt }, wish(ttl))
  return { creation_path: login.body.wrap_info?.creation_path, ttl: login.body.wrap_info?.ttl }
}
/** Everything except the request id. */
const withoutRequestId = (text: string) => text.replace(/"request_id":"[0-9a-f-]{36}"/, '"request_id":""')

describe('a wrapping token as a JWT is not offered', () => {
  const inFormat = (format: string): CallOptions => ({
    headers: { 'X-Vault-Wrap-TTL': '60', 'X-Vault-Wrap-Format': format },
  })
  const told = ['X-Vault-Wrap-Format "jwt" is not supported; the token is an ordinary one']

  test('its caller gets an ordinary one and a warning, and what comes out is as without', async () => {
    const wrapped = await server.root.read('auth/token/lookup-self', inFormat('jwt'))
    const token = String(wrapped.body.wrap_info?.token)
    const rewrapped = await server.root.write('sys/wrapping/rewrap', { token }, inFormat('jwt'))

    for (const { body } of [wrapped, rewrapped])
      expect(body).toMatchObject({ wrap_info: { token: expect.stringMatching(/^hvs\./) }, warnings: told })
    expect((await unwrapped(rewrapped)).body).toMatchObject({
      data: { path: 'auth/token/create' },
      warnings: null,
    })
  })

  test.each(['JWT', 'jws', ''])('the format %j has no effect', async (format) => {
    const { body } = await server.root.read('auth/token/lookup-self', inFormat(format))

    expect(body).toMatchObject({ wrap_info: { token: expect.any(String) }, warnings: null })
  })

  test('a response that is not wrapped has no warning', async () => {
    const { body } = await server.root.read('auth/token/lookup-self', {
      headers: { 'X-Vault-Wrap-Format': 'jwt' },
    })

    expect(body).toMatchObject({ data: { path: 'auth/token/create' }, warnings: null })
  })
})

describe('what is wrapped', () => {
  test.each(['60', '1m', '500ms', '60.5s', Buffer.from('60000000µs').toString('latin1')])(
    'a wrap TTL of %s never returns the plain response',
    async (ttl) => {
      const answer = await server.root.read('auth/token/lookup-self', wish(ttl))

      expect(answer.body).toMatchObject({ data: null, auth: null, wrap_info: { token: expect.any(String) } })
    },
  )

  test.each(['0', '', '0s'])('%j requests no wrapping', async (ttl) => {
    const answer = await server.root.read('auth/token/lookup-self', wish(ttl))

    expect(answer.body).toMatchObject({ data: { id: 'root' }, wrap_info: null })
  })

  test.each([
    { name: 'a read', ask: (options?: CallOptions) => server.root.read('sys/policies/acl/default', options) },
    {
      name: 'a read with copies at the top level',
      ask: (options?: CallOptions) => server.root.read('sys/mounts', options),
    },
    { name: 'a list', ask: (options?: CallOptions) => server.root.list('sys/policies/acl', options) },
    {
      name: 'a list by its verb',
      ask: (options?: CallOptions) => server.root.call('LIST', 'sys/policies/acl', undefined, options),
    },
    {
      name: 'a write with warnings',
      ask: (options?: CallOptions) =>
        server.root.write('sys/capabilities-self', { paths: 'a', zz: 1 }, options),
    },
    {
      name: 'an open path',
      ask: (options?: CallOptions) => server.root.read('sys/internal/ui/mounts', options),
    },
    {
      name: 'an open path that looks at no caller',
      ask: (options?: CallOptions) => server.root.read('identity/oidc/.well-known/keys', options),
    },
    {
      name: 'a bare document',
      ask: (options?: CallOptions) => server.root.read('sys/internal/specs/openapi', options),
    },
  ])(
    '$name is unwrapped byte for byte as it would have been returned, except for the request id',
    async ({ ask }) => {
      const plain = await ask()
      const inner = await unwrapped(await ask(wish()))

      expect([inner.status, inner.headers['content-type']]).toEqual([200, 'application/json'])
      expect(withoutRequestId(inner.text)).toBe(withoutRequestId(plain.text))
    },
  )

  test('stored data is unwrapped byte for byte', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue(), {
          minKeys: 1,
          maxKeys: 5,
          noNullPrototype: true,
        }),
        async (data) => {
          expect((await server.root.write('cubbyhole/any', data)).status).toBe(204)
          const plain = await server.root.read('cubbyhole/any')
          const inner = await unwrapped(await server.root.read('cubbyhole/any', wish()))

          expect(withoutRequestId(inner.text)).toBe(withoutRequestId(plain.text))
        },
      ),
      { numRuns: 50 },
    )
  })

  test('a write or deletion without a response body is performed, and 204', async () => {
    const written = await server.root.write('cubbyhole/a', { b: 'c' }, wish())
    const read = await server.root.read('cubbyhole/a')
    const deleted = await server.root.delete('cubbyhole/a', wish())

    expect([written.status, read.body.data, deleted.status]).toEqual([204, { b: 'c' }, 204])
  })

  test.each([
    { path: 'cubbyhole/none', status: 404, body: errors() },
    { path: 'nope/x', status: 404, body: errors('no handler for route "nope/x". route entry not found.') },
    { path: 'auth/token/nope', status: 404, body: errors(caused('unsupported path')) },
    { path: 'auth/token/create', status: 405, body: errors(caused('unsupported operation')) },
  ])('a refusal ($status at $path) is never wrapped', async ({ path, status, body }) => {
    expect(await server.root.read(path, wish())).toMatchObject({ status, body })
  })

  test('a list of nothing is an unsupported path', async () => {
    expect(await server.root.list('cubbyhole/none', wish())).toMatchObject({
      status: 404,
      body: errors('unsupported path'),
    })
  })

  test('a list of nothing with a warning is wrapped', async () => {
    const answer = await server.root.list('cubbyhole/none?zz=1', wish())

    expect(await unwrapped(answer)).toMatchObject({
      status: 200,
      body: { data: {}, warnings: ['Endpoint ignored these unrecognized parameters: [zz]'] },
    })
  })

  test.each(['sys/health', 'sys/seal-status', 'sys/leader', 'sys/init'])(
    '%s, a path of the node, is never wrapped',
    async (path) => {
      const answer = await server.anonymous.read(path, wish())

      expect(answer.status).toBe(200)
      expect(answer.text).not.toContain('wrap_info')
    },
  )

  test('a long list is wrapped and unwrapped', async () => {
    const names = many(300, 1_200)
    await Promise.all(
      Array.from({ length: names }, (_, at) =>
        server.root.write(`cubbyhole/many/${String(at).padStart(40, '0')}`, { a: 1 }),
      ),
    )
    const inner = await unwrapped(await server.root.list('cubbyhole/many', wish()))

    expect(inner.body.data?.keys).toHaveLength(names)
  })
})

describe('without a token', () => {
  const asked = [
    ['GET', 'sys/internal/ui/mounts'],
    ['GET', 'sys/internal/specs/openapi'],
    ['GET', 'sys/internal/ui/unauthenticated-messages'],
    ['GET', 'sys/internal/ui/authenticated-messages'],
    ['GET', 'identity/oidc/.well-known/openid-configuration'],
    ['GET', 'identity/oidc/.well-known/keys'],
    ['GET', 'identity/oidc/.well-known/nope'],
    ['POST', 'auth/jwt/oidc/auth_url'],
    ['DELETE', 'sys/internal/ui/mounts'],
  ] as const

  test.each(asked)('%s %s is not wrapped', async (verb, path) => {
    for (const client of [server.anonymous, server.as('nonsense')]) {
      const answer = await client.call(verb, path, verb === 'POST' ? { role: 'r' } : undefined, wish('1'))

      // a path that requires a valid token says so first
      const isDenied = answer.status === 403 && client !== server.anonymous
      if (!isDenied) expect(answer).toMatchObject({ status: 400, body: errors('wrapping needs a token') })
    }
  })

  test('a path that cannot be wrapped without a token has no effect: no login begins', async () => {
    await using issuer = await startIssuer()
    await server.root.write('auth/jwt/config', {
      oidc_discovery_url: issuer.url,
      oidc_client_id: 'a',
      oidc_client_secret: 'b',
    })
    await server.root.write('auth/jwt/role/person', {
      user_claim: 'sub',
      allowed_redirect_uris: ['http://localhost/'],
    })

    const answer = await server.anonymous.write(
      'auth/jwt/oidc/auth_url',
      { role: 'person', redirect_uri: 'http://localhost/' },
      wish(),
    )

    expect(answer).toMatchObject({ status: 400, body: errors('wrapping needs a token') })
  })

  test('a login is wrapped for no longer than the maximum lifetime of a token on its mount', async () => {
    await using issuer = await startIssuer()
    const { creation_path, ttl } = await wrappedLogin(issuer, '9000000000')
    expect([creation_path, ttl]).toEqual(['auth/jwt/login', 768 * 3600])

    await server.root.write('sys/auth/jwt/tune', { max_lease_ttl: '2h' })
    expect((await wrappedLogin(issuer, '9000000000')).ttl).toBe(7200)
    expect((await wrappedLogin(issuer, '60')).ttl).toBe(60)
    await server.root.write('sys/auth/jwt/tune', { max_lease_ttl: '' })
  })

  test('with a wrapping token alone, a caller can look it up and rewrap its content for no longer than the maximum lifetime of a token', async () => {
    const first = await server.root.read('auth/token/lookup-self', wish())
    const id = String(first.body.wrap_info?.token)
    const look = await server.anonymous.write('sys/wrapping/lookup', { token: id }, wish('9000000000'))
    const again = await server.as(id).write('sys/wrapping/unwrap', undefined, wish('9000000000'))

    expect(look.body.wrap_info).toMatchObject({ creation_path: 'sys/wrapping/lookup', ttl: 768 * 3600 })
    expect(again.body.wrap_info).toMatchObject({ creation_path: 'sys/wrapping/unwrap', ttl: 768 * 3600 })
  })

  test('a caller with a token may wrap a response for any TTL', async () => {
    for (const path of ['auth/token/lookup-self', 'identity/oidc/.well-known/keys']) {
      expect((await server.root.read(path, wish('9000000000'))).body.wrap_info?.ttl).toBe(9_000_000_000)
    }
  })

  testOfOneServer(
    'lookups of a wrapping token are wrapped in a burst of ten, then once every six seconds, for each client',
    async () => {
      const clock = new FakeClock()
      await using host = await startTestServer({ clock, settings: { TRUSTED_PROXIES: '127.0.0.0/8' } })
      const first = await host.root.read('auth/token/lookup-self', wish('1h'))
      const token = String(first.body.wrap_info?.token)
      const ask = (from: string) =>
        host.anonymous.write(
          'sys/wrapping/lookup',
          { token },
          { headers: { 'X-Vault-Wrap-TTL': '60', 'X-Forwarded-For': from } },
        )
      const statuses = []
      for (let at = 0; at < 11; at++) statuses.push((await ask(`2001:db8:1:2::${at}`)).status)

      expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), 429])
      const refused = await ask('2001:db8:1:2:3:4:5:6')
      expect(refused.body).toEqual(errors('too many responses were wrapped for a client without a token'))
      expect(refused.headers['retry-after']).toBeDefined()
      expect((await ask('2001:db8:1:3::1')).status).toBe(200)
      clock.advance(6)
      expect([(await ask('2001:db8:1:2::1')).status, (await ask('2001:db8:1:2::1')).status]).toEqual([
        200, 429,
      ])
      expect((await host.anonymous.write('sys/wrapping/lookup', { token })).status).toBe(200)
    },
  )

  test.each(['service', 'batch'])(
    'logins with %s tokens, and calls with a token, are wrapped without a limit',
    async (type) => {
      await using issuer = await startIssuer()
      const clock = new FakeClock()
      await using host = await startTestServer({ clock })
      await host.root.write('auth/jwt/config', { oidc_discovery_url: issuer.url })
      await host.root.write('auth/jwt/role/ci', {
        role_type: 'jwt',
        user_claim: 'sub',
        bound_audiences: 'gatehouse',
        token_type: type,
      })
      const jwt = await issuer.signPipeline('github', { aud: 'gatehouse' })

      for (let at = 0; at < 12; at++) {
        const login = await host.anonymous.write('auth/jwt/login', { role: 'ci', jwt }, wish())
        expect(login.body.wrap_info?.creation_path).toBe('auth/jwt/login')
        // unwrapped by itself, and wrapped again
        const again = await host
          .as(String(login.body.wrap_info?.token))
          .write('sys/wrapping/unwrap', undefined, wish())
        expect(again.body.wrap_info?.ttl).toBe(60)
        expect((await host.root.read('sys/mounts', wish())).status).toBe(200)
      }
    },
  )
})

describe('policies may require wrapping', () => {
  test.each([
    {
      rule: 'min_wrapping_ttl = "100s" max_wrapping_ttl = "200s"',
      denied: [undefined, '99', '201'],
      wrapped: ['100', '200'],
    },
    { rule: 'max_wrapping_ttl = "200s"', denied: [undefined, '201', '1000h'], wrapped: ['1', '500ms'] },
    { rule: 'min_wrapping_ttl = "1s"', denied: [undefined, '0', '500ms'], wrapped: ['1', '1000h'] },
  ])('$rule', async ({ rule, denied, wrapped }) => {
    await server.root.write('sys/policies/acl/forced', {
      policy: `path "cubbyhole/*" { capabilities = ["read", "create", "update", "list"] ${rule} }`,
    })
    const { body } = await server.root.write('auth/token/create', {
      policies: ['forced'],
      no_default_policy: true,
    })
    const client = server.as(String(body.auth?.client_token))

    for (const ttl of denied) {
      const options = ttl === undefined ? {} : wish(ttl)
      expect(await client.read('cubbyhole/a', options), ttl).toMatchObject({ status: 403, body: notAllowed })
      expect(await client.list('cubbyhole/a', options), ttl).toMatchObject({ status: 403, body: notAllowed })
    }
    for (const ttl of wrapped) {
      expect((await client.write('cubbyhole/a', { b: 'c' }, wish(ttl))).status, ttl).toBe(204)
      expect((await client.read('cubbyhole/a', wish(ttl))).body.wrap_info, ttl).not.toBeNull()
    }
  })
})
