import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile } from 'node:fs/promises'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { programFile } from '../support/bundled.ts'
import { type FolderServer, startInFolder } from '../support/folder-server.ts'
import { logLines } from '../support/log-lines.ts'
import { type Outcome, type ServerProcess, startProcess, startScriptFlags } from '../support/process.ts'
import { productVersion } from '../support/product-version.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const audience = 'ci'

/** A mount that knows one key, a role `ci`, and tokens signed with the key. */
async function aPipeline(server: ServerProcess | FolderServer, token: string) {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const root = server.as(token)
  await root.write('auth/jwt/config', { jwt_validation_pubkeys: [await pemOf(publicKey)] })
  await root.write('auth/jwt/role/ci', {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: [audience],
    token_num_uses: 0,
  })
  const sign = (claims: Record<string, unknown>) =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256' })
      .setSubject('build-7')
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(privateKey)
  return { sign, secretPart: String((await exportJWK(privateKey)).d) }
}

async function pemOf(key: CryptoKey): Promise<string> {
  const der = Buffer.from(await crypto.subtle.exportKey('spki', key))
  return `-----BEGIN PUBLIC KEY-----\n${der.toString('base64')}\n-----END PUBLIC KEY-----\n`
}

/** A server that was started, got requests, and was sealed and stopped. */
let life: ServerProcess
/** The status of its first response. */
let firstStatus = 0
let lifeEnded: Outcome
beforeAll(async () => {
  await using folder = await temporaryFolder()
  const settings = { REPLICA_NAME: 'one', REPORTED_VERSION: '1.17.0+ent', ACCESS_LOG: 'true' }
  life = await startProcess({ folder: folder.path, settings })
  const root = life.as(life.rootToken)
  firstStatus = (await root.read('auth/jwt/role/secret-name?x=1')).status
  await root.call('LIST', 'auth/jwt/role')
  await life.anonymous.read('/health/live')
  await life.anonymous.read('sys/health')
  await root.read('no/such/mount')
  await root.call('PUT', 'auth/jwt/role/ci', { user_claim: 'sub', role_type: 'jwt', bound_audiences: 'ci' })
  await life.anonymous.write('auth/jwt/login', { role: 'ci', jwt: 'x' })
  await root.call('PUT', 'sys/seal')
  lifeEnded = await life.stop()
})
afterAll(() => life[Symbol.asyncDispose]())

test("the log has JSON lines on standard error with time, level as a word, and the events of a server's life", () => {
  const lines = logLines(life)
  const events = lines.map((line) => line['event']).filter((event) => event !== 'request')

  expect(events).toEqual([
    ...['seal_key_made', 'initialized', 'audit_off', 'unsealed', 'started', 'login_refused', 'sealed'],
    ...['stopping', 'stopped'],
  ])
  expect(lifeEnded.code).toBe(0)
  for (const line of lines) {
    expect(line).toMatchObject({
      level: expect.stringMatching(/^(?:info|warn)$/),
      replica: 'one',
      event: expect.stringMatching(/^[a-z_]+$/),
      msg: expect.any(String),
    })
    expect(line['time']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(line).not.toHaveProperty('pid')
  }
})

test('the log has the end of a move under the id its caller was given', async () => {
  await using folder = await temporaryFolder()
  await using server = await startInFolder({ folder: folder.path })
  const moved = await server.as(server.rootToken).write('sys/remount', { from: 'cloud', to: 'team/cloud' })
  await server.stop()

  const id = moved.body['data']?.['migration_id']
  expect(logLines(server).find((line) => line['migration_id'] === id)).toMatchObject({
    level: 'info',
    source_mount: 'cloud/',
    target_mount: 'team/cloud/',
    status: 'success',
  })
})

test('the line started names the version of Gatehouse and the one reported to clients', () => {
  expect(logLines(life).find((line) => line['event'] === 'started')).toMatchObject({
    version: productVersion,
    reported_version: '1.17.0+ent',
    address: life.url,
    msg: `Gatehouse ${productVersion} is listening on ${life.url}`,
  })
})

test('a later start logs no initialization', async () => {
  await using folder = await temporaryFolder()
  await using first = await startInFolder({ folder: folder.path })
  await first.stop()
  await using server = await startInFolder({ folder: folder.path })

  const events = [first, server].map((one) => logLines(one).map(({ event }) => event))
  expect(events).toEqual([
    ['seal_key_made', 'initialized', 'audit_off', 'unsealed'],
    ['audit_off', 'unsealed'],
  ])
})

/** A warning, and then an exception that nobody catches. */
const failsAtSignal = `process.on('SIGUSR2', () => { process.emitWarning('beware'); setImmediate(() => { throw new Error('unforeseen') }) })`

// it ends by an exception: warnings of Node and the exception are JSON lines, and the exit code is 1
test('a server prints no token, JWT, key or body, except the one line with the root token', async () => {
  await using folder = await temporaryFolder()
  await using server = await startProcess({
    folder: folder.path,
    settings: { LOG_LEVEL: 'trace', ACCESS_LOG: 'true' },
    environment: { NODE_OPTIONS: `--import="data:text/javascript,${failsAtSignal}"` },
  })
  const root = server.as(server.rootToken)
  const { sign, secretPart } = await aPipeline(server, server.rootToken)
  const good = await sign({ aud: audience })
  const bad = await sign({ aud: 'elsewhere' })

  const login = await server.anonymous.write('auth/jwt/login', { role: 'ci', jwt: good })
  const token = String(login.body['auth']?.['client_token'])
  const accessor = String(login.body['auth']?.['accessor'])
  await server.anonymous.write('auth/jwt/login', { role: 'ci', jwt: bad })
  await server.anonymous.write('auth/jwt/login', { role: 'hunter2-typed-as-role', jwt: good })
  await server.anonymous.write('auth/jwt/login', { role: 'ci', jwt: `${good.slice(0, -4)}AAAA` })
  await server.as(token).read('auth/token/lookup-self?note=hunter2-in-the-query')
  await server.as('hvs.hunter2-wrong-token').read('auth/token/lookup-self')
  await root.write('auth/token/lookup', { token })
  await root.write('auth/token/lookup-accessor', { accessor })
  await root.write('cubbyhole/a', { password: 'hunter2-in-a-body' })
  await root.write('auth/token/create', { id: 'hunter2-own-id' })
  await root.write('sys/policies/acl/broken', { policy: 'path "hunter2-in-a-policy" {' })
  await root.write('auth/jwt/config', {
    oidc_client_secret: 'hunter2-client-secret',
    jwks_url: 'http://127.0.0.1:1/hunter2-path',
  })
  await root.write('auth/token/revoke-self')
  const ended = await server.stop('SIGUSR2')

  const sealKey = (await readFile(folder.file('data/seal.key'), 'utf8')).trim()
  const secrets = [
    token,
    accessor,
    good,
    bad,
    good.split('.')[1],
    good.split('.')[2],
    secretPart,
    sealKey,
    'hunter2',
  ]
  expect(login.status).toBe(200)
  expect(
    secrets.filter(
      (secret) =>
        secret !== undefined && secret.length > 5 && (server.stderr + server.stdout).includes(secret),
    ),
  ).toEqual([])
  expect(server.stderr).not.toContain(server.rootToken)
  expect(server.stdout).toBe(`Root token: ${server.rootToken}\n`)
  expect(logLines(server).filter(({ msg }) => msg === 'request').length).toBeGreaterThan(12)
  const [warning, end] = logLines(ended).slice(-2)
  expect(ended.code).toBe(1)
  expect(warning).toMatchObject({ level: 'warn', event: 'runtime_warning', msg: 'beware' })
  expect(end).toMatchObject({
    level: 'fatal',
    event: 'stopped',
    exit_code: 1,
    err: { type: 'Error', message: 'unforeseen' },
  })
})

test('a refused login logs who, where and which check, but no unknown role name', async () => {
  await using folder = await temporaryFolder()
  await using server = await startInFolder({ folder: folder.path })
  const { sign } = await aPipeline(server, server.rootToken)

  const refused = await server.anonymous.write('auth/jwt/login', {
    role: 'ci',
    jwt: await sign({ aud: 'elsewhere' }),
  })
  await server.anonymous.write('auth/jwt/login', {
    role: 'typed-a-password',
    jwt: await sign({ aud: audience }),
  })
  await server.stop()

  const lines = logLines(server).filter(({ event }) => event === 'login_refused')
  const place = {
    level: 'warn',
    msg: 'login refused',
    namespace: expect.any(String),
    mount: 'auth/jwt/',
    remote_address: '127.0.0.1',
  }
  expect(refused.status).toBe(400)
  expect(lines).toEqual([
    expect.objectContaining({
      ...place,
      role: 'ci',
      reason: 'audience_mismatch',
      status: 400,
      check: expect.any(String),
    }),
    expect.objectContaining({
      ...place,
      role: '',
      reason: 'role_unknown',
      status: 400,
      check: expect.any(String),
    }),
  ])
  for (const line of lines) expect(line['request_id']).toMatch(/^[0-9a-f-]{36}$/)
})

test('GATEHOUSE_ACCESS_LOG=true logs one line for each request, with its route and without its content', () => {
  const lines = logLines(life).filter(({ msg }) => msg === 'request')
  expect(firstStatus).toBe(404)
  expect(lines.map(({ method, route, mount, status }) => ({ method, route, mount, status }))).toEqual([
    { method: 'GET', route: '/jwt/role/:name', mount: 'auth/jwt/', status: 404 },
    { method: 'LIST', route: '/jwt/role/', mount: 'auth/jwt/', status: 404 },
    { method: 'GET', route: '/health/live', mount: '', status: 200 },
    { method: 'GET', route: '/sys/health', mount: '', status: 200 },
    { method: 'GET', route: 'none', mount: '', status: 404 },
    { method: 'PUT', route: '/jwt/role/:name', mount: 'auth/jwt/', status: 204 },
    { method: 'POST', route: '/jwt/login', mount: 'auth/jwt/', status: 400 },
    { method: 'PUT', route: '/sys/seal', mount: '', status: 204 },
  ])
  expect(lines.map(({ reason }) => reason).filter((reason) => reason !== undefined)).toHaveLength(1)
  for (const { reason: _, ...line } of lines) {
    expect(Object.keys(line).toSorted()).toEqual(
      [
        'duration_ms',
        'event',
        'level',
        'method',
        'mount',
        'msg',
        'namespace',
        'remote_address',
        'replica',
        'request_id',
        'route',
        'status',
        'time',
      ].toSorted(),
    )
    expect(line).toMatchObject({ remote_address: '127.0.0.1', duration_ms: expect.any(Number) })
  }
})

test('a log that cannot be written, as on a full disk, does not stop the server', async () => {
  await using folder = await temporaryFolder()
  await using full = await open('/dev/full', 'w')
  const server = spawn(process.execPath, [...startScriptFlags, programFile('src/process/main.ts')], {
    cwd: folder.path,
    env: { ...process.env, GATEHOUSE_LISTEN: '127.0.0.1:0' },
    stdio: ['ignore', 'pipe', full.fd],
  })
  const ended = once(server, 'exit')
  await Promise.race([once(server.stdout ?? server, 'data'), ended])

  server.kill('SIGTERM')

  expect(await ended).toEqual([0, null])
})
