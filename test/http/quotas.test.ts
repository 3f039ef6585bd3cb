import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { enableAuditFile } from '../support/audit-file.ts'
import { type Answer, inside } from '../support/client.ts'
import { errors } from '../support/error-bodies.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startInFolder } from '../support/folder-server.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const stack = new AsyncDisposableStack()
const clock = new FakeClock()
const rules = 'sys/quotas/rate-limit'
let server: TestServer
let auditFile: string

beforeAll(async () => {
  const folder = stack.use(await temporaryFolder())
  auditFile = folder.file('audit.log')
  server = stack.use(
    await startTestServer({ clock, settings: { AUDIT_DIRS: folder.path, TRUSTED_PROXIES: '127.0.0.1' } }),
  )
  await server.root.write('sys/namespaces/ns1')
  await server.root.write('sys/namespaces/below', {}, inside('ns1'))
})
afterAll(() => stack.disposeAsync())
afterEach(async () => {
  const { body } = await server.root.list(rules)
  for (const name of (body['data']?.['keys'] ?? []) as unknown as string[])
    await server.root.delete(`${rules}/${name}`)
  await configure()
})

const over = (path: string) => ({
  status: 429,
  body: errors(`request path "${path}": rate limit quota exceeded`),
})
const limit = async (name: string, rule: object) =>
  expect(await server.root.write(`${rules}/${name}`, rule)).toMatchObject({ status: 204 })
const refusal = async (rule: object, name = 'refused') => server.root.write(`${rules}/${name}`, rule)
const configure = (settings: object = {}) =>
  server.root.write('sys/quotas/config', { rate_limit_exempt_paths: ['sys/seal-status'], ...settings })
const login = (role = 'r') => server.anonymous.write('auth/jwt/login', { role, jwt: 'x' })
const from = (localAddress: string) => ({ localAddress })

/** The statuses of requests, one after the other. */
async function statuses(count: number, send: () => Promise<Answer>): Promise<number[]> {
  const found: number[] = []
  for (let sent = 0; sent < count; sent += 1) found.push((await send()).status)
  return found
}

describe('a rule on a mount', () => {
  test('refuses one of three logins at once, without a header', async () => {
    await limit('a', { path: 'auth/jwt', rate: 1 })

    const answers = await Promise.all([login(), login(), login()])

    const refused = answers.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(2)
    expect(refused[0]).toMatchObject(over('auth/jwt/login'))
    expect(Object.keys(refused[0]?.headers ?? {}).filter((name) => /ratelimit|retry/.test(name))).toEqual([])
  })

  test('limits every path of it, also for the root token, until the interval ends', async () => {
    await limit('a', { path: 'auth/jwt/', rate: 2, interval: '1m' })

    expect(await statuses(2, () => server.root.read('auth/jwt/role/x'))).toEqual([404, 404])
    expect(await server.root.list('auth/jwt/role')).toMatchObject(over('auth/jwt/role/'))
    clock.advance(59)
    expect(await server.root.read('auth/jwt/config')).toMatchObject(over('auth/jwt/config'))
    expect((await server.root.read('sys/mounts')).status).toBe(200)
    clock.advance(1)
    expect(await statuses(3, () => server.root.read('auth/jwt/role/x'))).toEqual([404, 404, 429])
  })

  test('counts each client address by itself', async () => {
    await limit('a', { path: 'sys', rate: 1, interval: 60 })

    const read = (address: string) => () => server.root.read('sys/mounts', from(address))
    expect(await statuses(2, read('127.0.0.2'))).toEqual([200, 429])
    expect(await statuses(2, read('127.0.0.3'))).toEqual([200, 429])
  })

  test('counts an IPv6 network of 64 bits as one client', async () => {
    await limit('a', { path: 'sys', rate: 1, interval: 60 })
    const read = async (address: string) =>
      (await server.root.read('sys/mounts', { headers: { 'X-Forwarded-For': address } })).status

    expect(await read('2001:db8:1:2::1')).toBe(200)
    expect(await read('2001:db8:1:2:ffff::9')).toBe(429)
    expect(await read('2001:db8:1:3::1')).toBe(200)
  })

  test('is reset by a write, and ends when it is deleted', async () => {
    const rule = { path: 'cubbyhole', rate: 1, interval: 60 }
    await limit('a', rule)
    expect(await statuses(2, () => server.root.read('cubbyhole/x'))).toEqual([404, 429])
    await limit('a', rule)
    expect(await statuses(2, () => server.root.read('cubbyhole/x'))).toEqual([404, 429])
    expect(await statuses(2, () => server.root.delete(`${rules}/a`))).toEqual([204, 204])
    expect((await server.root.read('cubbyhole/x')).status).toBe(404)
    expect(await server.root.read(`${rules}/a`)).toMatchObject({ status: 404, body: errors() })
  })

  test('rounds a fractional rate up', async () => {
    await limit('a', { path: 'cubbyhole', rate: 1.5, interval: 60 })

    expect(await statuses(3, () => server.root.read('cubbyhole/x'))).toEqual([404, 404, 429])
  })

  test('with a block interval refuses a client for that long, whatever its interval', async () => {
    await configure({ enable_rate_limit_response_headers: true })
    await limit('a', { path: 'cubbyhole', rate: 1, interval: 1, block_interval: '30s' })

    const read = () => server.root.read('cubbyhole/x')
    expect((await read()).headers).toMatchObject({
      'x-ratelimit-limit': '1',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '1',
    })
    expect((await read()).headers).toMatchObject({ 'x-ratelimit-limit': '1', 'retry-after': '30' })
    clock.advance(29)
    const blocked = await read()
    expect(blocked).toMatchObject({ status: 429, headers: { 'retry-after': '1' } })
    expect(blocked.headers).not.toHaveProperty('x-ratelimit-limit')
    clock.advance(1)
    expect((await read()).status).toBe(404)
  })
})

describe('the most specific rule applies', () => {
  test('a role, a path, a glob, the mount, then everything', async () => {
    const shared = { interval: 60 }
    await limit('all', { path: '', rate: 1, ...shared })
    await limit('mount', { path: 'auth/jwt', rate: 2, ...shared })
    await limit('glob', { path: 'auth/jwt/role/*', rate: 3, ...shared })
    await limit('longer', { path: 'auth/jwt/role/a*', rate: 4, ...shared })
    await limit('path', { path: 'auth/jwt/role/ab', rate: 5, ...shared })
    await limit('role', { path: 'auth/jwt', role: 'R', rate: 6, ...shared })
    const served = async (send: () => Promise<Answer>) =>
      (await statuses(8, send)).filter((status) => status !== 429).length

    expect(await served(() => login('r'))).toBe(6)
    expect(await served(() => server.root.read('auth/jwt/role/ab'))).toBe(5)
    expect(await served(() => server.root.read('auth/jwt/role/abc'))).toBe(4)
    expect(await served(() => server.root.read('auth/jwt/role/b'))).toBe(3)
    expect(await served(() => login('other'))).toBe(2)
    expect(await server.root.read('auth/jwt/config')).toMatchObject(over('auth/jwt/config'))
    expect(await served(() => server.root.read('cubbyhole/x'))).toBe(1)
    expect(await server.root.read('nowhere')).toMatchObject(over('nowhere'))
    expect((await server.anonymous.read('sys/leader')).status).toBe(429)
    expect((await server.anonymous.read('sys/internal/ui/unauthenticated-messages')).status).toBe(429)
  })

  test('a login without a role, or that cannot be read, counts under the default role', async () => {
    const settings = { jwt_validation_pubkeys: [aSigner('ES256').pem], default_role: 'usual' }
    expect((await server.root.write('auth/jwt/config', settings)).status).toBe(204)
    await limit('role', { path: 'auth/jwt', role: 'usual', rate: 2, interval: 60 })

    expect((await server.anonymous.write('auth/jwt/login', undefined, { raw: '{' })).status).toBe(400)
    expect((await server.anonymous.write('auth/jwt/login', { jwt: 'x' })).status).toBe(400)
    expect((await server.anonymous.write('auth/jwt/login', { jwt: 'x' })).status).toBe(429)
    expect((await server.anonymous.write('auth/jwt/login', undefined, { raw: '{' })).status).toBe(429)
    expect((await login('else')).status).toBe(400)
    await server.root.delete('auth/jwt/config')
  })

  test('a rule on a namespace limits the ones below only if it is inheritable', async () => {
    const read = (namespace: string) => () => server.root.read('sys/mounts', inside(namespace))
    await limit('ns', { path: 'ns1', rate: 1, interval: 60 })
    expect(await statuses(2, read('ns1'))).toEqual([200, 429])
    expect(await statuses(2, read('ns1/below'))).toEqual([200, 200])
    await limit('ns', { path: 'ns1/', rate: 1, interval: 60, inheritable: true })
    expect(await statuses(2, read('ns1/below'))).toEqual([200, 429])
    expect(await statuses(2, read(''))).toEqual([200, 200])
    await limit('mount', { path: 'ns1/below/sys', rate: 3, interval: 60 })
    expect(await statuses(4, read('ns1/below'))).toEqual([200, 200, 200, 429])
    expect((await server.root.read(`${rules}/mount`)).body['data']).toMatchObject({ path: 'ns1/below/sys/' })
  })
})

describe('exempt are', () => {
  test('the paths of the settings, and always those that undo a rule or stop an intruder', async () => {
    await limit('all', { rate: 1, interval: 60 })
    await server.root.read('sys/mounts')
    await configure({ rate_limit_exempt_paths: ['/sys/aud', ''] })

    const some = ['sys/audit', 'sys/health', '/health', '/health/live', 'sys/quotas/config']
    for (const path of some)
      expect({ path, answers: await statuses(3, () => server.root.read(path)) }).toMatchObject({
        path,
        answers: [200, 200, 200],
      })
    expect((await server.root.write('auth/token/revoke', { token: 'none' })).status).toBe(204)
    expect((await server.anonymous.call('PUT', 'sys/seal')).status).not.toBe(429)
    expect((await server.root.read('sys/mounts')).status).toBe(429)
    expect((await server.root.read('sys/seal-status')).status).toBe(429)
  })

  test('the default paths, until a write replaces all settings', async () => {
    await using fresh = await startTestServer()
    const read = async () => (await fresh.root.read('sys/quotas/config')).body['data']

    expect(await read()).toEqual({
      rate_limit_exempt_paths: [
        'sys/generate-recovery-token/attempt',
        'sys/generate-recovery-token/update',
        'sys/generate-root/attempt',
        'sys/generate-root/update',
        'sys/health',
        'sys/seal-status',
        'sys/unseal',
      ],
      absolute_rate_limit_exempt_paths: [],
      enable_rate_limit_audit_logging: false,
      enable_rate_limit_response_headers: false,
    })
    await fresh.root.write('sys/quotas/config', { enable_rate_limit_audit_logging: true })
    expect(await read()).toEqual({
      rate_limit_exempt_paths: [],
      absolute_rate_limit_exempt_paths: [],
      enable_rate_limit_audit_logging: true,
      enable_rate_limit_response_headers: false,
    })
  })
})

describe('a refusal', () => {
  test('comes before CORS, token and audit', async () => {
    await server.root.write('sys/config/cors', { allowed_origins: ['https://app.example.com'] })
    await limit('a', { path: 'cubbyhole', rate: 1, interval: 60 })
    const read = (origin: string) => server.anonymous.read('cubbyhole/x', { headers: { Origin: origin } })

    expect((await read('https://app.example.com')).status).toBe(403)
    const refused = await read('https://app.example.com')
    expect(refused).toMatchObject(over('cubbyhole/x'))
    expect(refused.headers).not.toHaveProperty('access-control-allow-origin')
    expect((await read('https://evil.example.com')).status).toBe(429)
    await server.root.delete('sys/config/cors')
  })

  test('is recorded only if the settings say so, in one entry', async () => {
    const file = await enableAuditFile(server.root, auditFile)
    await limit('a', { path: 'auth/jwt/login', rate: 1, interval: 60 })
    await login()

    expect(await file.during(login)).toEqual([])
    await configure({ enable_rate_limit_audit_logging: true })
    const [entry, ...more] = await file.during(login)
    expect(more).toEqual([])
    expect(entry).toMatchObject({
      type: 'request',
      request: { path: 'auth/jwt/login' },
      error: 'request path "auth/jwt/login": rate limit quota exceeded',
    })
    await limit('b', { path: 'auth/jwt', role: 'limited', rate: 1, interval: 60 })
    await login('limited')
    const ofRole = await file.during(() => login('limited'))
    expect(ofRole).toMatchObject([{ type: 'request', request: { path: 'auth/jwt/login' } }])
    expect(JSON.stringify(ofRole)).not.toContain('"x"')
    await server.root.delete('sys/audit/file')
  })

  test('is counted by rule in the metrics', async () => {
    await limit('counted', { path: 'cubbyhole', rate: 1, interval: 60 })
    await statuses(3, () => server.root.read('cubbyhole/x'))

    expect((await server.root.read('/metrics')).text).toContain(
      'gatehouse_rate_limited_total{quota="counted"} 2',
    )
  })
})

describe('a rule', () => {
  test('is read back with a normalised path and seconds', async () => {
    await limit('a', { path: '/auth/jwt', rate: 0.5, interval: '1m', block_interval: '2m' })

    expect((await server.root.read(`${rules}/a`)).body['data']).toEqual({
      type: 'rate-limit',
      name: 'a',
      path: 'auth/jwt/',
      role: '',
      rate: 0.5,
      interval: 60,
      block_interval: 120,
      inheritable: false,
      group_by: 'ip',
      secondary_rate: 0,
    })
    await limit('b', { path: 'auth/jwt/login/', rate: 1 })
    expect((await server.root.read(`${rules}/b`)).body['data']).toMatchObject({
      path: 'auth/jwt/login',
      interval: 1,
      block_interval: 0,
    })
    expect((await server.root.list(rules)).body['data']).toEqual({ keys: ['a', 'b'] })
  })

  const noNumber = (field: string) => `Field validation failed: error converting input for field "${field}": `
  test.each([
    { rule: { path: 'auth/jwt', rate: 0 }, text: "'rate' is invalid" },
    { rule: { path: 'nope', rate: -1 }, text: "'rate' is invalid" },
    { rule: { path: 'auth/jwt' }, text: "'rate' is invalid" },
    { rule: { path: 'nope', rate: 1 }, text: 'invalid mount path "nope/"' },
    { rule: { path: 'ns1/nope', rate: 1 }, text: 'invalid mount path "nope/"' },
    {
      rule: { path: 'sys', rate: 1, role: 'r' },
      text: 'Mount path "sys/" is not a valid auth method and therefore unsuitable for use with role-based quotas',
    },
    {
      rule: { path: 'auth/token', rate: 1, role: 'r' },
      text: 'Mount path "auth/token/" does not support use with role-based quotas',
    },
    {
      rule: { path: 'auth/jwt/login', rate: 1, role: 'r' },
      text: 'Quotas cannot contain both a path suffix and a role. If a role is provided, path must be a valid mount with a concept of roles',
    },
    {
      rule: { path: 'auth/jwt', rate: 1, inheritable: true },
      text: 'only namespace quotas can be configured as inheritable',
    },
    { rule: { rate: 1, inheritable: false }, text: 'all global quotas must be inheritable' },
    {
      rule: { rate: 'x' },
      text: `${noNumber('rate')}'' cannot parse value as 'float64': strconv.ParseFloat: invalid syntax`,
    },
    {
      rule: { rate: 1, block_interval: '-1s' },
      text: `${noNumber('block_interval')}cannot provide negative value '-1'`,
    },
  ])('that cannot be is refused: $text', async ({ rule, text }) => {
    expect(await refusal(rule)).toMatchObject({ status: 400, body: errors(text) })
  })

  test('must differ from all others', async () => {
    await limit('a', { path: 'auth/jwt', rate: 1 })

    expect(await refusal({ path: 'auth/jwt/', rate: 5 }, 'b')).toMatchObject({
      status: 400,
      body: errors('quota rule with similar properties exists under the name "a"'),
    })
  })

  test('is managed in the root namespace only', async () => {
    for (const path of [`${rules}/a`, 'sys/quotas/config'])
      expect(await server.root.write(path, { rate: 1 }, inside('ns1'))).toMatchObject({
        status: 400,
        body: errors('operation only available in root namespace'),
      })
  })

  test('moves with its mount, and goes with its mount or namespace', async () => {
    const { root } = server
    await root.write('sys/auth/short', { type: 'jwt' })
    await root.write('sys/namespaces/gone')
    await limit('a', { path: 'auth/short/login', rate: 1 })
    await limit('b', { path: 'gone', rate: 1 })
    await limit('c', { path: 'gone/sys', rate: 1 })
    await root.write('sys/remount', { from: 'auth/short', to: 'auth/long' })
    const pathOf = async () => (await root.read(`${rules}/a`)).body['data']?.['path']
    await expect.poll(pathOf).toBe('auth/long/login')

    await root.delete('sys/auth/long')
    await root.delete('sys/namespaces/gone')

    await expect.poll(async () => (await root.list(rules)).status).toBe(404)
  })
})

test('rules and settings survive a restart', async () => {
  await using folder = await temporaryFolder()
  const first = await startInFolder({ folder: folder.path })
  const root = first.as(first.rootToken)
  await root.write('sys/quotas/config', { enable_rate_limit_response_headers: true })
  await root.write(`${rules}/a`, { path: 'cubbyhole', rate: 1, interval: 60 })
  await first.stop()
  await using second = await startInFolder({ folder: folder.path })

  const read = () => second.as(first.rootToken).read('cubbyhole/x')
  expect(await statuses(2, read)).toEqual([404, 429])
  expect((await read()).headers).toHaveProperty('retry-after')
})

describe('group_by', () => {
  test('none counts all clients together', async () => {
    await limit('a', { path: 'sys', rate: 2, interval: 60, group_by: 'none' })

    const sent = ['127.0.0.1', '127.0.0.2', '127.0.0.3'].map(
      (address) => () => server.root.read('sys/mounts', from(address)),
    )

    expect(
      await Promise.all(sent.map(async (send) => (await send()).status)).then((all) => all.toSorted()),
    ).toEqual([200, 200, 429])
  })

  test('reads back as written, and is ip by default', async () => {
    await limit('a', { path: 'sys', rate: 2000, group_by: 'none' })
    await limit('b', { path: 'auth/jwt', rate: 2000, group_by: '' })

    expect((await server.root.read(`${rules}/a`)).body.data).toMatchObject({
      group_by: 'none',
      secondary_rate: 0,
    })
    expect((await server.root.read(`${rules}/b`)).body.data).toMatchObject({
      group_by: 'ip',
      secondary_rate: 0,
    })
  })

  test.each([{ group_by: 'entity_then_ip' }, { group_by: 'none', secondary_rate: 5 }])(
    'a limit that would not be kept is refused: %o',
    async (fields) => {
      expect(await refusal({ path: 'sys', rate: 1, ...fields })).toMatchObject({ status: 400 })
      expect((await server.root.list(rules)).status).toBe(404)
    },
  )
})

test('an absolute exempt path names its namespace', async () => {
  await limit('a', { path: '', rate: 1, interval: 60 })
  await configure({ absolute_rate_limit_exempt_paths: ['/ns1/sys/auth'] })

  expect((await server.root.read('sys/quotas/config')).body.data).toMatchObject({
    absolute_rate_limit_exempt_paths: ['ns1/sys/auth'],
    rate_limit_exempt_paths: ['sys/seal-status'],
  })
  expect(await statuses(3, () => server.root.read('ns1/sys/auth'))).toEqual([200, 200, 200])
  expect(await statuses(2, () => server.root.read('sys/auth'))).toEqual([200, 429])
})
