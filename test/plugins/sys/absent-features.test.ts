import { afterAll, beforeAll, expect, test } from 'vitest'
import { notAccepted } from '../../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server[Symbol.asyncDispose]())

test('sys/replication/status needs no token', async () => {
  const { status, body } = await server.anonymous.read('sys/replication/status')

  expect(status).toBe(200)
  expect(body.data).toEqual({ mode: 'disabled' })
})

test.each([
  {
    path: 'sys/internal/counters/config',
    data: {
      billing_start_timestamp: '0001-01-01T00:00:00Z',
      default_report_months: 12,
      enabled: 'default-disabled',
      minimum_retention_months: 48,
      queries_available: false,
      reporting_enabled: false,
      retention_months: 48,
    },
  },
  { path: 'sys/experiments', data: { available_experiments: [], enabled_experiments: [] } },
  { path: 'sys/plugins/catalog', data: { auth: [], database: [], secret: [], detailed: [] } },
  { path: 'sys/plugins/catalog/', data: { auth: [], database: [], secret: [], detailed: [] } },
])('$path says that there is nothing, to callers who may read it', async ({ path, data }) => {
  expect((await server.root.read(path)).body.data).toEqual(data)
  expect(await server.anonymous.read(path)).toMatchObject({ status: 403, body: notAccepted })
})

test.each(['auth', 'database', 'secret'])('the list of plugins of type %s is empty', async (type) => {
  const { status, body } = await server.root.list(`sys/plugins/catalog/${type}`)

  expect([status, body.data]).toEqual([200, { keys: [], key_info: {} }])
})

test('sys/config/state/sanitized shows settings in the words of Vault, and nothing secret', async () => {
  const { status, body, text } = await server.root.read('sys/config/state/sanitized')

  expect(status).toBe(200)
  expect(body.data).toMatchObject({
    default_lease_ttl: 2_764_800,
    listeners: [
      { type: 'tcp', config: { address: expect.stringMatching(/^127\.0\.0\.1:/), tls_disable: true } },
    ],
    seals: [{ type: 'static', disabled: false }],
    storage: { type: 'inmem' },
  })
  expect(text).not.toContain('"root"')
})

test('the settings are those of the root namespace', async () => {
  await server.root.write('sys/namespaces/a')

  expect((await server.root.read('a/sys/config/state/sanitized')).status).toBe(400)
})
