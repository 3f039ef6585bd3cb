import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { hostname } from 'node:os'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { inside } from '../../support/client.ts'
import { errors } from '../../support/error-bodies.ts'
import { logLines } from '../../support/log-lines.ts'
import { type ServerProcess, startProcess } from '../../support/process.ts'
import { productDate, productVersion } from '../../support/product-version.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const stack = new AsyncDisposableStack()
let server: ServerProcess

beforeAll(async () => {
  const folder = stack.use(await temporaryFolder())
  server = stack.use(await startProcess({ folder: folder.path, settings: { REPLICA_NAME: 'one' } }))
})
afterAll(() => stack.disposeAsync())

const root = () => server.as(server.rootToken)

/** Follows the log of the server. */
async function follow(query: string) {
  const request = get(`${server.url}/v1/sys/monitor${query}`, {
    headers: { 'X-Vault-Token': server.rootToken },
  })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.setEncoding('utf8')
  let text = ''
  response.on('data', (chunk: string) => {
    text += chunk
  })
  return {
    response,
    text: () => text,
    shows: (wanted: RegExp) => vi.waitUntil(() => wanted.test(text), { timeout: 10_000 }),
    [Symbol.asyncDispose]: async () => void request.destroy(),
  }
}

/** Leaves a line at level `warn`. */
const makeLine = () => server.anonymous.write('sys/wrapping/unwrap', { token: 'hvs.wrong' })

describe('sys/in-flight-req', () => {
  test('shows the requests in progress, itself included', async () => {
    const { status, body } = await root().read('sys/in-flight-req?note=secret')

    expect(status).toBe(200)
    expect(Object.values(body)).toEqual([
      {
        start_time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        client_remote_address: '127.0.0.1',
        request_path: '/v1/sys/in-flight-req',
        request_method: 'GET',
        client_id: '',
      },
    ])
    expect(Object.keys(body)).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)])
  })

  test('shows a request that waits', async () => {
    await using _ = await follow('')

    const { body } = await root().read('sys/in-flight-req')

    expect(Object.values(body).map((one) => String(one['request_path']))).toContain('/v1/sys/monitor')
  })
})

test('sys/host-info describes the machine', async () => {
  const { body } = await root().read('sys/host-info')

  expect(body['data']).toMatchObject({
    cpu: expect.arrayContaining([expect.objectContaining({ cpu: 0, cores: 1 })]),
    disk: expect.arrayContaining([expect.objectContaining({ path: '/', total: expect.any(Number) })]),
    host: { hostname: hostname(), os: process.platform },
    memory: { total: expect.any(Number), available: expect.any(Number) },
  })
})

test('sys/version-history names the version that has created the store', async () => {
  const { body } = await root().list('sys/version-history')

  expect(body['data']).toEqual({
    keys: [productVersion],
    key_info: {
      [productVersion]: {
        build_date: productDate,
        commit_date: productDate,
        previous_version: null,
        timestamp_installed: expect.stringMatching(/Z$/),
      },
    },
  })
})

test('sys/ha-status of a server that is alone names it, also at the top level', async () => {
  const { body } = await root().read('sys/ha-status')

  const nodes = [
    {
      hostname: 'one',
      api_address: server.url,
      cluster_address: '',
      active_node: true,
      last_echo: null,
      version: '1.16.3+ent',
    },
  ]
  expect(body).toMatchObject({ nodes, data: { nodes } })
})

describe('sys/loggers', () => {
  test('sets the level of the log until it is reset', async () => {
    await root().write('sys/loggers', { level: 'ERROR' })
    expect((await root().read('sys/loggers/core')).body['data']).toEqual({ core: 'error' })
    const before = logLines(server).length
    await makeLine()
    await root().delete('sys/loggers/core')
    expect((await root().read('sys/loggers')).body['data']).toEqual({ core: 'info' })
    await makeLine()

    await vi.waitUntil(() => logLines(server).length > before)
    expect(
      logLines(server)
        .slice(before)
        .map(({ event }) => event),
    ).toEqual(['unwrap_refused'])
  })

  test.each([
    ['sys/loggers', {}, 'level is required'],
    ['sys/loggers', { level: 'loud' }, 'invalid level provided: unknown log level: loud'],
    ['sys/loggers/core', { level: 'loud' }, 'invalid level provided: unknown log level: loud'],
    ['sys/loggers/audit', { level: 'info' }, 'logger "audit" not found'],
  ])('%s refuses %o', async (path, body, text) => {
    expect(await root().write(path, body)).toMatchObject({ status: 400, body: errors(text) })
  })

  test.each(['read', 'delete'] as const)('an unknown logger: %s', async (verb) => {
    const answer = await root()[verb]('sys/loggers/audit')
    expect(answer).toMatchObject({ status: 400, body: errors('logger "audit" not found') })
  })
})

describe('sys/monitor', () => {
  test('streams the log for people', async () => {
    await using log = await follow('')
    expect(log.response.headers['content-type']).toBe('text/plain; charset=utf-8')
    await makeLine()

    await log.shows(/^\S+Z \[WARN\] {2}an invalid wrapping token was used: .*event=unwrap_refused/m)
  })

  test('streams JSON lines', async () => {
    await using log = await follow('?log_format=json')
    await makeLine()
    await log.shows(/\n/)

    expect(JSON.parse(log.text().split('\n', 1)[0] ?? '')).toMatchObject({
      level: 'warn',
      event: 'unwrap_refused',
      replica: 'one',
    })
  })

  test('streams no lines below the requested level', async () => {
    await using log = await follow('?log_level=error')
    await using all = await follow('?log_level=trace')
    await makeLine()
    await all.shows(/unwrap_refused/)

    expect(log.text()).toBe('')
  })

  test.each([
    ['?log_level=loud', 'unknown log level'],
    ['?log_format=xml', 'unknown log format'],
  ])('%s is refused', async (query, text) => {
    expect(await root().read(`sys/monitor${query}`)).toMatchObject({ status: 400, body: errors(text) })
  })

  test('17 clients are too many', async () => {
    await using open = new AsyncDisposableStack()
    for (let one = 0; one < 16; one += 1) open.use(await follow(''))

    expect((await root().read('sys/monitor')).status).toBe(429)
  })
})

test.each(['in-flight-req', 'host-info', 'loggers', 'monitor'])(
  'sys/%s belongs to the root namespace',
  async (path) => {
    await root().write('sys/namespaces/team')

    expect((await root().read(`sys/${path}`, inside('team'))).status).toBe(400)
  },
)

test.each(['in-flight-req', 'host-info', 'ha-status', 'loggers', 'monitor'])(
  'sys/%s needs a right to it',
  async (path) => {
    const created = await root().write('auth/token/create', { policies: ['default'] })
    const other = server.as(String(created.body['auth']?.['client_token']))

    expect((await other.read(`sys/${path}`)).status).toBe(403)
    expect((await server.anonymous.read(`sys/${path}`)).status).toBe(403)
  },
)

test('streams end when the server is sealed', async () => {
  await using log = await follow('')
  const ended = once(log.response, 'end')
  await root().write('sys/seal')

  await ended
})
