import { once } from 'node:events'
import { mkdir, rm, symlink } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { PluginDefinition } from '../../src/http/resource/plugin.ts'
import { resource } from '../../src/http/resource/resource.ts'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { enableAuditFile } from '../support/audit-file.ts'
import type { Json } from '../support/client.ts'
import { type CredentialProvider, startCredentialProvider } from '../support/credential-provider.ts'
import { type Headers, inlineLogin, written } from '../support/jwt-desk.ts'
import { testOfOneServer } from '../support/of-one-server.ts'
import { practiceType } from '../support/practice-type.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A collector that refuses what `refuses` says. */
async function startCollector() {
  const lines: Json[] = []
  const collector = { lines, refuses: (_line: Json): boolean => false, headers: new Set<unknown>(), host: '' }
  const server = createServer(async (request, response) => {
    const text = (await request.toArray()).join('')
    const line: Json = JSON.parse(text)
    collector.headers.add(request.headers['authorization'])
    const refused = collector.refuses(line)
    if (!refused) lines.push(line)
    response.writeHead(refused ? 500 : 204).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  collector.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return Object.assign(collector, {
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}

const stack = new AsyncDisposableStack()
let collector: Awaited<ReturnType<typeof startCollector>>
let provider: CredentialProvider
let server: TestServer
let folder: string
const logged: Json[] = []

beforeAll(async () => {
  folder = stack.use(await temporaryFolder()).path
  collector = stack.use(await startCollector())
  provider = stack.use(await startCredentialProvider())
  const uri = `http://${collector.host}/lines`
  const devices = [{ path: 'http', type: 'http', options: { uri, headers: '{"Authorization":"canary"}' } }]
  server = stack.use(
    await startTestServer({
      settings: {
        AUDIT: JSON.stringify(devices),
        AUDIT_HTTP_HOSTS: collector.host,
        AUDIT_DIRS: folder,
        METRICS: 'open',
      },
      log: pino({ level: 'info' }, { write: (line) => void logged.push(JSON.parse(line)) }),
      plugins: [
        practiceType({
          providerUrl: provider.url,
          roles: new Map([['ci', { ttl: 60, maxTtl: 0, renewable: true }]]),
        }),
      ],
    }),
  )
  await server.root.write('sys/mounts/practice', { type: 'practice' })
})
afterEach(() => {
  collector.refuses = () => false
})
afterAll(() => stack.disposeAsync())

const ofType = (type: string) => (line: Json) => String(line['type']) === type
const internal = { status: 500, body: { errors: ['internal error'] } }

describe('a device of the settings', () => {
  test('is listed without its headers, and sends each line to its collector', async () => {
    const listed = await server.root.read('sys/audit')

    expect(listed.body['data']).toEqual({
      'http/': {
        path: 'http/',
        type: 'http',
        description: '',
        local: false,
        options: { uri: `http://${collector.host}/lines` },
      },
    })
    expect(collector.headers).toEqual(new Set(['canary']))
  })

  test('cannot be disabled by the API', async () => {
    const refused = await server.root.delete('sys/audit/http')

    expect(refused.body['errors']).toEqual([
      'cannot disable audit device via API; use declarative, config-based audit device management instead',
    ])
  })
})

describe('while no device can write', () => {
  test.each([
    { name: 'an allowed request', call: () => server.root.read('sys/mounts') },
    { name: 'a login', call: () => server.anonymous.write('auth/jwt/login', { jwt: 'x' }) },
    { name: 'a request without a token', call: () => server.anonymous.read('sys/mounts') },
    { name: 'a request with a bad token', call: () => server.as('bad').read('sys/mounts') },
    { name: 'a path that nobody serves', call: () => server.root.read('none/x') },
    { name: 'a generated root token', call: () => server.root.write('sys/generate-root/attempt', {}) },
    { name: 'sealing', call: () => server.root.write('sys/seal') },
  ])('$name is refused', async ({ call }) => {
    collector.refuses = () => true

    expect(await call()).toMatchObject(internal)
  })

  test('the log names the device and what failed once, not each request', async () => {
    await server.root.read('sys/mounts')
    const before = logged.length
    collector.refuses = () => true
    for (let times = 0; times < 3; times++) await server.root.read('sys/mounts')
    collector.refuses = () => false
    await server.root.read('sys/mounts')

    expect(logged.slice(before).map(({ event, device, code }) => ({ event, device, code }))).toEqual([
      { event: 'audit_failed', device: 'http/', code: expect.any(String) },
      { event: 'audit_back', device: 'http/', code: undefined },
    ])
  })

  test('neither a login that a request carries runs, nor that request', async () => {
    const signer = aSigner('ES256')
    const iat = Math.floor(Date.now() / 1000)
    const jwt = signer.sign({ iss: 'https://ci', sub: 'nobody yet', aud: 'gate', iat, exp: iat + 600 })
    const config = { bound_issuer: 'https://ci', accept_as_token: true, default_role: 'carried' }
    await written(server.root, 'auth/jwt/config', { ...config, jwt_validation_pubkeys: [signer.pem] })
    await written(server.root, 'auth/jwt/role/carried', {
      role_type: 'jwt',
      user_claim: 'sub',
      bound_audiences: 'gate',
    })
    const asked = async (headers: Headers) =>
      (await server.anonymous.read('auth/token/lookup-self', { headers })).status
    const entities = async () => (await server.root.list('identity/entity/id')).body.data?.keys
    const before = await entities()

    for (const headers of [inlineLogin('auth/jwt/login', { jwt }), { 'X-Vault-Token': jwt }]) {
      collector.refuses = () => true
      expect(await asked(headers)).toBe(500)
      collector.refuses = () => false
      expect(await entities()).toEqual(before)
    }
    expect(await asked({ 'X-Vault-Token': jwt })).toBe(200)
    expect(await entities()).not.toEqual(before)
  })

  test('no handler runs', async () => {
    collector.refuses = () => true
    await server.root.write('cubbyhole/never', { a: 'b' })
    collector.refuses = () => false

    expect((await server.root.read('cubbyhole/never')).status).toBe(404)
  })

  testOfOneServer('health is served, and the server is not ready', async () => {
    collector.refuses = () => true
    await server.root.read('sys/mounts')

    expect((await server.anonymous.read('sys/health')).status).toBe(200)
    expect(await server.anonymous.read('/health/ready')).toMatchObject({
      status: 503,
      body: { status: 'audit' },
    })
    expect((await server.anonymous.read('/metrics')).text).toContain(
      'gatehouse_audit_device_up{device="http/"} 0',
    )
    collector.refuses = () => false
    await server.root.read('sys/mounts')
    expect((await server.anonymous.read('/health/ready')).status).toBe(200)
    const { text } = await server.anonymous.read('/metrics')
    expect(text).toContain('gatehouse_audit_device_up{device="http/"} 1')
    expect(text).toMatch(/gatehouse_audit_records_total\{device="http\/",outcome="failed"\} [1-9]/)
  })

  test('if only the response entry can be written, the refusal has the form of a failure', async () => {
    collector.refuses = ofType('request')

    const refused = await server.root.read('sys/mounts')

    expect(refused).toMatchObject({
      status: 500,
      body: { errors: ['1 error occurred:\n\t* internal error\n\n'] },
    })
  })
})

describe('if the response entry cannot be written', () => {
  const accessors = async () => (await server.root.list('auth/token/accessors')).body['data']?.['keys']

  test('the result is withheld, and a new token is revoked', async () => {
    const before = await accessors()
    collector.refuses = ofType('response')
    expect(await server.root.write('auth/token/create', { ttl: '1h' })).toMatchObject(internal)
    collector.refuses = () => false

    // in the background: nobody knows the token
    await expect.poll(accessors).toEqual(before)
  })

  test('a new secret is revoked', async () => {
    collector.refuses = ofType('response')
    expect(await server.root.read('practice/creds/ci')).toMatchObject(internal)
    collector.refuses = () => false

    await provider.gone()
    expect(provider.asked.size).toBe(1)
  })

  test('a wrapped response is withheld with its token', async () => {
    const before = await accessors()
    collector.refuses = ofType('response')
    const headers = { 'X-Vault-Wrap-TTL': '60' }
    expect(await server.root.write('auth/token/create', { ttl: '1h' }, { headers })).toMatchObject(internal)
    collector.refuses = () => false

    // in the background: nobody knows the token
    await expect.poll(accessors).toEqual(before)
  })
})

test('one device that writes is enough', async () => {
  const file = await enableAuditFile(server.root, join(folder, 'audit.log'))
  collector.refuses = () => true
  expect(await server.root.read('sys/mounts')).toMatchObject({ status: 200 })
  const ready = await server.anonymous.read('/health/ready')
  collector.refuses = () => false
  await server.root.delete('sys/audit/file')

  const ofRead = file.entries().filter((entry) => String(entry['request']?.['path']) === 'sys/mounts')
  expect(ofRead.map((entry) => entry['type'])).toEqual(['request', 'response'])
  expect(ready.status).toBe(200)
})

describe('starting', () => {
  const startWith = (devices: unknown, settings: Record<string, string> = {}) =>
    startTestServer({ settings: { AUDIT: JSON.stringify(devices), AUDIT_DIRS: folder, ...settings } })

  test('fails if no device can write', async () => {
    const file_path = join(folder, 'a-folder')
    await mkdir(file_path)
    const devices = [{ path: 'file', type: 'file', options: { file_path } }]

    await expect(startWith(devices)).rejects.toMatchObject({
      exitCode: 1,
      message: 'cannot start: no audit device can write; GATEHOUSE_AUDIT may name another one',
    })
  })

  test('fails for a device that is not allowed', async () => {
    const devices = [{ path: 'file', type: 'file', options: { file_path: '/etc/audit.log' } }]

    await expect(startWith(devices)).rejects.toMatchObject({
      exitCode: 2,
      message: 'GATEHOUSE_AUDIT: device file/: file_path is not in an allowed directory',
    })
  })

  test('fails for two devices that would write to one file', async () => {
    await mkdir(join(folder, 'logs'), { recursive: true })
    await symlink('logs', join(folder, 'same-logs'))
    const pairs = [
      [join(folder, 'logs', 'a.log'), join(folder, 'same-logs', 'a.log')],
      ['stdout', 'stdout'],
    ]
    for (const pair of pairs) {
      const devices = pair.map((file_path, at) => ({ path: `${at}`, type: 'file', options: { file_path } }))

      await expect(startWith(devices)).rejects.toMatchObject({
        exitCode: 2,
        message: 'GATEHOUSE_AUDIT: device 1/: another audit device writes to this file',
      })
    }
  })

  test('with another device makes it possible to disable one that can never write again', async () => {
    const logs = join(folder, 'broken')
    const settings = {
      AUDIT_DIRS: logs,
      SEAL_KEY: '08'.repeat(32),
      STORAGE: `sqlite:${join(folder, 'broken.db')}`,
    }
    await using first = await startTestServer({ settings })
    const { path } = await enableAuditFile(first.root, join(logs, 'audit.log'))
    await first[Symbol.asyncDispose]()
    await rm(path)
    await mkdir(path)
    await expect(startTestServer({ settings })).rejects.toMatchObject({ exitCode: 1 })

    const devices = [{ path: 'other', type: 'file', options: { file_path: 'discard' } }]
    await using second = await startTestServer({ settings: { ...settings, AUDIT: JSON.stringify(devices) } })
    expect((await second.root.delete('sys/audit/file')).status).toBe(204)
    await second[Symbol.asyncDispose]()

    await using third = await startTestServer({ settings })
    expect((await third.root.read('sys/audit')).body['data']).toEqual({})
  })

  test('without the API, devices can only be set', async () => {
    await using closed = await startWith([], { AUDIT_API: 'false' })
    const refused = await closed.root.write('sys/audit/file', {
      type: 'file',
      options: { file_path: 'discard' },
    })

    expect(refused.body['errors']).toEqual([
      'cannot enable audit device via API; use declarative, config-based audit device management instead',
    ])
  })
})

/** A mount type whose `wait` responds when it is released. */
function heldType() {
  const entered = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const wait = resource('/wait', {
    help: 'Wait.',
    read: {
      summary: 'Wait',
      handle: async () => {
        entered.resolve()
        await released.promise
        return { data: { a: 'b' } }
      },
    },
  })
  const type: PluginDefinition = { table: 'secret', names: ['held'], open: () => ({ resources: [wait] }) }
  return { type, entered: entered.promise, release: () => released.resolve() }
}

test('after sealing, no response leaves unrecorded, and the chain continues once the server is unsealed', async () => {
  const key = '07'.repeat(32)
  const held = heldType()
  await using sealed = await startTestServer({
    settings: {
      AUDIT_DIRS: join(folder, 'sealed'),
      SEAL_KEY: key,
      STORAGE: `sqlite:${join(folder, 'sealed.db')}`,
    },
    plugins: [held.type],
  })
  await sealed.root.write('sys/mounts/held', { type: 'held' })
  const file = await enableAuditFile(sealed.root, join(folder, 'sealed', 'audit.log'))
  const waiting = sealed.root.read('held/wait')
  await held.entered
  expect((await sealed.root.write('sys/seal')).status).toBe(204)
  expect((await sealed.anonymous.write('sys/unseal', { key })).status).toBe(200)
  held.release()
  expect(await waiting).toMatchObject({ status: 503, body: { errors: ['Vault is sealed'] } })
  await sealed.root.read('sys/mounts')
  await sealed.root.delete('sys/audit/file')

  const lines = file
    .text()
    .trimEnd()
    .split('\n')
    .map((line): Json => JSON.parse(line))
  expect(lines.map((line) => Number(line['chain']?.['seq']))).toEqual(lines.map((_line, at) => at + 1))
  expect(new Set(lines.map((line) => line['chain']?.['id'])).size).toBe(1)
  expect(lines.flatMap((line) => (line['event'] === undefined ? [] : [String(line['event'])]))).toEqual([
    ...['start', 'close', 'resume', 'close'],
  ])
  expect(
    lines.flatMap((line) => (String(line['request']?.['path']) === 'held/wait' ? [line['type']] : [])),
  ).toEqual(['request'])
  expect(lines.find((line) => String(line['request']?.['path']) === 'sys/seal')).toMatchObject({
    type: 'request',
    request: { operation: 'update' },
  })
})

test('the keys of the chain are listed, also those that no longer sign', async () => {
  const before = (await server.root.read('sys/audit-chain')).body['data']
  expect((await server.root.write('sys/audit-chain/rotate')).status).toBe(204)
  const after = (await server.root.read('sys/audit-chain')).body['data']

  expect(before?.['keys']).toHaveLength(1)
  expect(after?.['keys']).toHaveLength(2)
  expect(after?.['keys']?.[0]?.['key_id']).toEqual(before?.['keys']?.[0]?.['key_id'])
  expect(after?.['keys']?.[0]?.['retired_time']).not.toBe('')
})
