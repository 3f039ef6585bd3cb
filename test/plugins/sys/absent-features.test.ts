import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errors, notAccepted } from '../../support/error-bodies.ts'
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
])('$path says that there is nothing, to callers who may read it', async ({ path, data }) => {
  expect((await server.root.read(path)).body.data).toEqual(data)
  expect(await server.anonymous.read(path)).toMatchObject({ status: 403, body: notAccepted })
})

describe('the catalog of plugins has the types of mounts', () => {
  const auth = ['approle', 'jwt', 'kubernetes', 'oidc', 'userpass']
  const secret = ['azure', 'cloud', 'generic', 'kv', 'kv-v1', 'kv-v2']
  const builtIn = {
    builtin: true,
    version: expect.stringMatching(/^v\d+\.\d+\.\d+\+builtin\.gatehouse$/),
    deprecation_status: 'supported',
  }

  test.each(['sys/plugins/catalog', 'sys/plugins/catalog/'])('%s', async (path) => {
    const { status, body } = await server.root.read(path)

    expect(status).toBe(200)
    expect(body.data).toEqual({
      auth,
      database: [],
      secret,
      detailed: [
        ...auth.map((name) => ({ name, type: 'auth', ...builtIn })),
        ...secret.map((name) => ({ name, type: 'secret', ...builtIn })),
      ],
    })
    expect(await server.anonymous.read(path)).toMatchObject({ status: 403, body: notAccepted })
  })

  test('by type and by name', async () => {
    const { root } = server
    const list = async (type: string) => (await root.list(`sys/plugins/catalog/${type}`)).body.data
    const read = (name: string) => root.read(`sys/plugins/catalog/${name}`)

    expect(await list('auth')).toEqual({ keys: auth })
    expect(await list('secret')).toEqual({ keys: secret })
    expect(await list('database')).toEqual({ keys: [], key_info: {} })
    expect((await read('auth/jwt')).body.data).toEqual({
      args: null,
      command: '',
      name: 'jwt',
      sha256: '',
      ...builtIn,
    })
    for (const name of ['auth/ldap', 'auth/kv', 'database/jwt', 'auth/JWT'])
      expect(await read(name)).toMatchObject({ status: 404, body: errors() })
  })

  test('and cannot be changed', async () => {
    const path = 'sys/plugins/catalog/auth/jwt'

    expect((await server.root.write(path, { sha256: 'x', command: 'x' })).status).toBe(405)
    expect((await server.root.delete(path)).status).toBe(405)
    expect((await server.root.list('sys/plugins/catalog')).status).toBe(405)
  })
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
