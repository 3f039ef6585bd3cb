import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startProvider } from '../plugins/jwt-auth/provider.ts'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { enableAuditFile } from '../support/audit-file.ts'
import { errors } from '../support/error-bodies.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const stack = new AsyncDisposableStack()
const clock = new FakeClock()
const signer = aSigner('ES256')
let server: TestServer
let auditFile: string
let last = 1

beforeAll(async () => {
  const folder = stack.use(await temporaryFolder())
  auditFile = folder.file('audit.log')
  server = stack.use(
    await startTestServer({ clock, settings: { LOGIN_FAILURES: '3/1m', AUDIT_DIRS: folder.path } }),
  )
  await server.root.write('sys/auth/other', { type: 'jwt' })
  for (const mount of ['jwt', 'other']) {
    await server.root.write(`auth/${mount}/config`, { jwt_validation_pubkeys: [signer.pem] })
    await server.root.write(`auth/${mount}/role/r`, {
      role_type: 'jwt',
      user_claim: 'sub',
      bound_audiences: 'a',
    })
  }
})
afterAll(() => stack.disposeAsync())
// each test has a client of its own
beforeEach(() => {
  last += 1
})

const from = (host = last) => ({ localAddress: `127.0.0.${host}` })
const seconds = () => Math.floor(clock.now() / 1000)
const aJwt = (claims: object = {}) =>
  signer.sign({ sub: 'x', aud: 'a', iat: seconds(), exp: seconds() + 600, ...claims })
const login = (jwt: string, mount = 'jwt', at = from()) =>
  server.anonymous.write(`auth/${mount}/login`, { role: 'r', jwt }, at)
const fail = (mount = 'jwt') => login(aJwt({ aud: 'b' }), mount)
const limited = { status: 429, body: errors('request path "auth/jwt/login": rate limit quota exceeded') }

async function failThrice(): Promise<void> {
  for (let count = 0; count < 3; count += 1) expect((await fail()).status).toBe(400)
}

test('after as many refused logins as are allowed, the address gets 429 until the time is over', async () => {
  await failThrice()

  expect(await login(aJwt())).toMatchObject({ ...limited, headers: { 'retry-after': '60' } })
  clock.advance(59)
  expect(await login(aJwt())).toMatchObject({ ...limited, headers: { 'retry-after': '1' } })
  clock.advance(1)
  expect((await login(aJwt())).status).toBe(200)
})

test('successful logins do not count, and do not reset the count', async () => {
  for (let count = 0; count < 5; count += 1) expect((await login(aJwt())).status).toBe(200)
  await fail()
  await fail()
  expect((await login(aJwt())).status).toBe(200)
  await fail()

  expect((await login(aJwt())).status).toBe(429)
})

test('other addresses, other mounts and other paths of the mount are not affected', async () => {
  await failThrice()

  expect((await login(aJwt(), 'jwt', from(200))).status).toBe(200)
  expect((await login(aJwt(), 'other')).status).toBe(200)
  expect((await server.root.read('auth/jwt/role/r', from())).status).toBe(200)
  expect((await server.anonymous.write('auth/jwt/oidc/auth_url', {}, from())).status).toBe(429)
})

test('the refusal needs no more than the head of the request', async () => {
  await failThrice()

  expect((await server.anonymous.write('auth/jwt/login', undefined, { raw: '{', ...from() })).status).toBe(
    429,
  )
})

test('a login that fails because its provider is down does not count', async () => {
  const provider = await startProvider({ '/jwks': { keys: [] } })
  await server.root.write('sys/auth/far', { type: 'jwt' })
  await server.root.write('auth/far/config', { jwks_url: `${provider.url}/jwks` })
  await server.root.write('auth/far/role/r', { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'a' })
  await provider[Symbol.asyncDispose]()

  for (let count = 0; count < 4; count += 1) {
    const { status, body } = await login(aJwt(), 'far')
    expect({ status, body }).toMatchObject({
      status: 400,
      body: { errors: ['error verifying token: keys of the provider are unavailable'] },
    })
  }
})

test('a refusal is audited only if the settings of rate limits say so, and counted in the metrics', async () => {
  const file = await enableAuditFile(server.root, auditFile)
  await failThrice()

  expect(await file.during(() => login(aJwt()))).toEqual([])
  await server.root.write('sys/quotas/config', { enable_rate_limit_audit_logging: true })
  expect(await file.during(() => login(aJwt()))).toMatchObject([
    { type: 'request', request: { path: 'auth/jwt/login' } },
  ])
  expect((await server.root.read('/metrics')).text).toMatch(
    /gatehouse_rate_limited_total\{quota="login_failures"\} [1-9]/,
  )
  await server.root.delete('sys/audit/file')
})

test('without the setting, refused logins are not limited', async () => {
  await using unlimited = await startTestServer()

  for (let count = 0; count < 10; count += 1)
    expect((await unlimited.anonymous.write('auth/jwt/login', { role: 'r', jwt: 'x' })).status).toBe(400)
})
