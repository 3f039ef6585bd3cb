import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { Client } from '../support/client.ts'
import { caused, errors, notAccepted } from '../support/error-bodies.ts'
import { productVersion } from '../support/product-version.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'

const signer = aSigner('ES256')
const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'gate' }
const claims = { sub: 'secret-subject', aud: 'gate', exp: Math.floor(Date.now() / 1000) + 60 }

/** The value of one line of Prometheus' text. */
function readingOf(text: string, name: string, labels: Record<string, string> = {}): number | undefined {
  const line = text
    .split('\n')
    .find(
      (one) =>
        one.replace(/[{ ].*/, '') === name &&
        Object.entries(labels).every(([label, value]) => one.includes(`${label}="${value}"`)),
    )
  return line === undefined ? undefined : Number(line.split(' ').at(-1))
}

describe('what is counted', () => {
  let server: TestServer
  let text = ''
  beforeAll(async () => {
    server = await startTestServer()
    await server.root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
    await server.root.write('auth/jwt/role/ci', role)
    for (const aud of ['gate', 'gate', 'other'])
      await server.anonymous.write('auth/jwt/login', { role: 'ci', jwt: signer.sign({ ...claims, aud }) })
    await server.root.read('no/such/path')
    await server.root.call('BREW', 'auth/jwt/config')
    await server.anonymous.read('sys/internal/ui/unauthenticated-messages')
    text = (await server.root.read('/metrics')).text
  })
  afterAll(() => server[Symbol.asyncDispose]())

  test.each([
    ['gatehouse_logins_total', { mount: 'auth/jwt/', method: 'jwt', result: 'ok', reason: '' }, 2],
    [
      'gatehouse_logins_total',
      { mount: 'auth/jwt/', method: 'jwt', result: 'refused', reason: 'audience_mismatch' },
      1,
    ],
    ['gatehouse_login_duration_seconds_count', { mount: 'auth/jwt/', method: 'jwt' }, 3],
    ['gatehouse_login_duration_seconds_bucket', { le: '+Inf' }, 3],
    ['gatehouse_http_requests_total', { method: 'POST', route: '/jwt/login', code: '200' }, 2],
    ['gatehouse_http_requests_total', { method: 'POST', route: '/jwt/login', code: '400' }, 1],
    ['gatehouse_http_requests_total', { route: 'none', code: '404' }, 1],
    ['gatehouse_http_requests_total', { method: 'other', code: '405' }, 1],
    [
      'gatehouse_http_requests_total',
      { route: '/system/internal/ui/unauthenticated-messages', code: '200' },
      1,
    ],
    ['gatehouse_http_request_duration_seconds_count', { method: 'POST', route: '/jwt/login' }, 3],
    ['gatehouse_keys', { mount: 'auth/jwt/' }, 1],
    ['gatehouse_pending_logins', { mount: 'auth/jwt/' }, 0],
    ['gatehouse_tokens', { type: 'service' }, 3],
    ['gatehouse_entities', {}, 1],
    ['gatehouse_sealed', {}, 0],
    ['gatehouse_initialized', {}, 1],
    ['gatehouse_storage_up', {}, 1],
    ['gatehouse_barrier_term', {}, 1],
    ['gatehouse_reseal_remaining_records', {}, 0],
    ['gatehouse_background_held', { job: 'token-sweep' }, 1],
    ['gatehouse_background_held', { job: 'leases' }, 1],
    ['gatehouse_storage_bytes', { part: 'wal' }, 0],
    ['gatehouse_storage_bytes', { part: 'free' }, 0],
    ['gatehouse_build_info', { version: productVersion, storage: 'inmem', seal: 'static' }, 1],
  ])('%s %o', (name, labels, value) => {
    expect(readingOf(text, name, labels as unknown as Record<string, string>)).toBe(value)
  })

  test('runs of background jobs, with the time of the last good one', async () => {
    const before = Date.now() / 1000 - 1
    await server.root.write('auth/token/tidy')

    const job = 'token-tidy'
    let now = ''
    const runs = async () => {
      now = (await server.root.read('/metrics')).text
      return readingOf(now, 'gatehouse_background_runs_total', { job, outcome: 'ok' })
    }
    await expect.poll(runs).toBe(1)
    const last = readingOf(now, 'gatehouse_background_last_success_timestamp_seconds', { job })
    expect(last).toBeGreaterThan(before)
  })

  test("requests and connections in progress, and the engine's own metrics", () => {
    expect(readingOf(text, 'gatehouse_http_in_flight_requests')).toBe(0)
    expect(readingOf(text, 'gatehouse_http_connections')).toBeGreaterThanOrEqual(1)
    expect(readingOf(text, 'process_resident_memory_bytes')).toBeGreaterThan(0)
    expect(readingOf(text, 'nodejs_heap_size_used_bytes')).toBeGreaterThan(0)
  })

  test('encryptions with the data key', () => {
    expect(readingOf(text, 'gatehouse_barrier_encryptions')).toBeGreaterThan(3)
  })

  test.each(['get', 'list', 'write'])('the duration of each storage operation: %s', (operation) => {
    const name = 'gatehouse_storage_operation_duration_seconds'
    const count = readingOf(text, `${name}_count`, { operation })
    expect(count).toBeGreaterThan(3)
    expect(readingOf(text, `${name}_bucket`, { operation, le: '5' })).toBe(count)
    expect(readingOf(text, `${name}_sum`, { operation })).toBeGreaterThan(0)
  })

  test('storage commits, the number of writes in each, and the size of the database', () => {
    const commits = readingOf(text, 'gatehouse_storage_commit_duration_seconds_count')
    expect(commits).toBeGreaterThan(3)
    expect(readingOf(text, 'gatehouse_storage_commit_duration_seconds_bucket', { le: '+Inf' })).toBe(commits)
    expect(readingOf(text, 'gatehouse_storage_commit_steps_bucket', { le: '256' })).toBe(commits)
    expect(readingOf(text, 'gatehouse_storage_commit_steps_sum')).toBeGreaterThanOrEqual(
      commits ?? Number.NaN,
    )
    expect(readingOf(text, 'gatehouse_storage_bytes', { part: 'database' })).toBeGreaterThan(4096)
  })

  test('metrics contain no role, subject, address or token', () => {
    for (const hidden of ['secret-subject', '"ci"', '127.0.0.1', 'hvs.', 'no/such'])
      expect(text).not.toContain(hidden)
  })

  test('both paths serve both formats', async () => {
    const prometheus = 'text/plain; version=0.0.4; charset=utf-8'
    expect((await server.root.read('/metrics')).headers['content-type']).toBe(prometheus)
    expect((await server.root.read('sys/metrics?format=prometheus')).headers['content-type']).toBe(prometheus)
    const accept = { Accept: 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5' }
    expect((await server.root.read('sys/metrics', { headers: accept })).headers['content-type']).toBe(
      prometheus,
    )
    const json = await server.root.read('sys/metrics')
    expect(json.headers['content-type']).toBe('application/json')
    expect(json.body).toMatchObject({
      Timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC$/),
      Points: [],
    })
    const logins = { mount: 'auth/jwt/', method: 'jwt', kind: 'login', result: 'ok', reason: '' }
    expect(json.body['Counters']).toContainEqual(
      expect.objectContaining({ Name: 'gatehouse_logins_total', Count: 2, Labels: logins }),
    )
    expect(json.body['Samples']).toContainEqual(
      expect.objectContaining({
        Name: 'gatehouse_login_duration_seconds',
        Count: 3,
        Labels: { mount: 'auth/jwt/', method: 'jwt' },
      }),
    )
    expect(await server.root.read('sys/metrics?format=xml')).toMatchObject({
      status: 400,
      text: 'metric response format "xml" unknown',
    })
    expect((await server.root.write('sys/metrics', {})).status).toBe(405)
    expect((await server.root.read('sys/metrics', { headers: { 'X-Vault-Namespace': 'a' } })).status).toBe(
      400,
    )
  })

  test('a token that may read sys/metrics is required and sufficient', async () => {
    await server.root.write('sys/policies/acl/scrape', {
      policy: 'path "sys/metrics" { capabilities = ["read"] }',
    })
    const token = async (policy: string) =>
      String(
        (await server.root.write('auth/token/create', { policies: [policy] })).body['auth']?.['client_token'],
      )
    for (const path of ['/metrics', 'sys/metrics']) {
      expect((await server.as(await token('scrape')).read(path)).status).toBe(200)
      expect(await server.as(await token('other')).read(path)).toMatchObject({
        status: 403,
        body: errors(caused('permission denied')),
      })
      expect(await server.anonymous.read(path)).toMatchObject({ status: 403, body: notAccepted })
    }
  })

  test('a sealed server reveals nothing', async () => {
    await using sealed = await startTestServer()
    await sealed.root.call('PUT', 'sys/seal')

    expect(await sealed.root.read('/metrics')).toMatchObject({ status: 503, body: errors('Vault is sealed') })
  })
})

test('the first scrape shows only measured values, and histograms of used routes only', async () => {
  await using server = await startTestServer({ settings: { METRICS: 'open' } })
  await server.root.read('sys/auth')

  const first = (await server.anonymous.read('/metrics')).text
  const second = (await server.anonymous.read('/metrics')).text
  const json = await server.anonymous.read('sys/metrics')

  for (const text of [first, second]) {
    const values = text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => Number(line.split(' ').at(-1)))
    expect(values.filter((value) => !Number.isFinite(value) || value === 2 ** 63 / 1e9)).toEqual([])
  }
  const histograms = (text: string) =>
    new Set(
      [...text.matchAll(/^(gatehouse_http_\w+)_count\{(.*)\}/gm)].map(
        ([, name, labels]) => `${name} ${labels}`,
      ),
    )
  expect([...histograms(first)]).toEqual([
    'gatehouse_http_request_duration_seconds method="GET",route="/system/auth"',
  ])
  expect([...histograms(second)]).toHaveLength(2)
  expect(json.body['Gauges']).not.toContainEqual(expect.objectContaining({ Value: null }))
})

test('the event loop is shown once it was measured', async () => {
  await using server = await startTestServer({ settings: { METRICS: 'open' } })
  const least = async () =>
    readingOf((await server.anonymous.read('/metrics')).text, 'nodejs_eventloop_lag_min_seconds')

  await vi.waitUntil(async () => (await least()) !== undefined, { interval: 50, timeout: 30_000 })
})

test('GATEHOUSE_METRICS=open requires no token, sealed or not', async () => {
  await using server = await startTestServer({ settings: { METRICS: 'open' } })

  expect((await server.anonymous.read('/metrics')).status).toBe(200)
  await server.root.call('PUT', 'sys/seal')
  const sealed = await server.anonymous.read('/metrics')

  expect(readingOf(sealed.text, 'gatehouse_sealed')).toBe(1)
  expect(readingOf(sealed.text, 'gatehouse_barrier_term')).toBeUndefined()
})

test('GATEHOUSE_METRICS=off removes the paths', async () => {
  await using server = await startTestServer({ settings: { METRICS: 'off' } })

  for (const path of ['/metrics', 'sys/metrics'])
    expect(await server.root.read(path)).toMatchObject({ status: 404, body: errors() })
})

test('GATEHOUSE_METRICS_LISTEN opens a separate listener without token, sealed or not, with nothing else on it', async () => {
  await using server = await startTestServer({ settings: { METRICS: 'off', METRICS_LISTEN: '127.0.0.1:0' } })
  const watcher = new Client(`http://127.0.0.1:${server.server.metricsPort}`)
  await server.root.read('sys/auth')

  expect(
    readingOf((await watcher.read('/metrics')).text, 'gatehouse_http_requests_total', { code: '200' }),
  ).toBe(1)
  expect(await watcher.read('/health/live')).toMatchObject({ status: 200, body: { status: 'live' } })
  expect(await watcher.read('/health/ready')).toMatchObject({ status: 200, body: { status: 'ready' } })
  for (const path of ['sys/health', '/', 'sys/metrics', 'auth/jwt/login'])
    expect((await watcher.with('root').read(path)).status).toBe(404)
  expect((await watcher.write('/metrics', {})).status).toBe(405)
  expect((await server.root.read('/metrics')).status).toBe(404)
  await server.root.call('PUT', 'sys/seal')
  expect(readingOf((await watcher.read('/metrics')).text, 'gatehouse_sealed')).toBe(1)
  expect(await watcher.read('/health/ready')).toMatchObject({ status: 503, body: { status: 'sealed' } })
})

test.each([
  { reason: 'malformed', head: 'GET / HTTP/9.9\r\n\r\n' },
  { reason: 'size', head: `GET /${'x'.repeat(70_000)} HTTP/1.1\r\nHost: x\r\n\r\n` },
])('requests that no handler sees are counted: $reason', async ({ reason, head }) => {
  await using server = await startTestServer()
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  socket.write(head)
  await once(socket, 'data')
  socket.destroy()

  const { text } = await server.root.read('/metrics')

  expect(readingOf(text, 'gatehouse_http_refused_total', { reason })).toBe(1)
})

test('logins of a removed mount are shown no more, and a new mount at its path begins anew', async () => {
  await using server = await startTestServer()
  const { root, anonymous } = server
  const refusedLogin = async () => {
    await root.write('sys/auth/brief', { type: 'jwt' })
    await anonymous.write('auth/brief/login', { role: 'none', jwt: 'none' })
    return (await root.read('/metrics')).text
  }
  const logins = (text: string) => readingOf(text, 'gatehouse_logins_total', { mount: 'auth/brief/' })

  const first = await refusedLogin()
  await root.delete('sys/auth/brief')
  const between = (await root.read('/metrics')).text
  const again = await refusedLogin()

  expect([logins(first), logins(again)]).toEqual([1, 1])
  expect(between).not.toContain('auth/brief/')
})

test('a limited number of mounts have their own label, and the others share one', async () => {
  const { Metrics } = await import('../../src/metrics/metrics.ts')
  const metrics = new Metrics()
  for (let index = 0; index < 250; index++)
    metrics.login({
      mount: `auth/m${index}/`,
      method: 'jwt',
      kind: 'login',
      result: 'ok',
      reason: '',
      seconds: 0.001,
    })

  const { body } = await metrics.text()

  expect(readingOf(body, 'gatehouse_logins_total', { mount: 'other' })).toBe(50)
  expect(readingOf(body, 'gatehouse_logins_total', { mount: 'auth/m199/' })).toBe(1)
  expect(readingOf(body, 'gatehouse_login_duration_seconds_bucket', { mount: 'auth/m0/', le: '0.001' })).toBe(
    1,
  )
})
