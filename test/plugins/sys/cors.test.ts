import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { caused, errors, errorText, notAccepted, notAllowed } from '../../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const path = 'sys/config/cors'
let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server[Symbol.asyncDispose]())
beforeEach(async () => {
  expect((await server.root.delete(path)).status).toBe(204)
})

const usual = [
  'Content-Type',
  'Authorization',
  'X-Vault-Token',
  'X-Vault-MFA',
  'X-Vault-No-Request-Forwarding',
  'X-Vault-Wrap-Format',
  'X-Vault-Wrap-TTL',
  'X-Requested-With',
  'X-Vault-AWS-IAM-Server-ID',
  'X-Vault-Policy-Override',
]

test('it is off at first, in data and at the top level', async () => {
  const { status, body } = await server.root.read(path)

  expect(status).toBe(200)
  expect(body.data).toEqual({ enabled: false })
  expect(body.enabled).toBe(false)
})

test('it reads back as written, with the headers that are always allowed', async () => {
  await server.root.write(path, {
    allowed_origins: ['https://a.example', 'https://b.example'],
    allowed_headers: ['X-Mine'],
    allow_credentials: true,
  })

  expect((await server.root.read(path)).body.data).toEqual({
    enabled: true,
    allowed_origins: ['https://a.example', 'https://b.example'],
    allowed_headers: [...usual, 'X-Mine'],
    allow_credentials: true,
  })
})

test('a header that only preflights name by default is shown if it was written', async () => {
  await server.root.write(path, { allowed_origins: '*', allowed_headers: ['x-vault-namespace'] })

  expect((await server.root.read(path)).body.data?.allowed_headers).toEqual([...usual, 'x-vault-namespace'])
})

test('a write replaces everything', async () => {
  await server.root.write(path, {
    allowed_origins: 'https://a.example',
    allowed_headers: 'X-Mine',
    allow_credentials: true,
  })
  await server.root.call('PUT', path, { allowed_origins: 'https://b.example' })

  expect((await server.root.read(path)).body.data).toEqual({
    enabled: true,
    allowed_origins: ['https://b.example'],
    allowed_headers: usual,
    allow_credentials: false,
  })
})

test.each([
  { sent: 'https://a.example', origins: ['https://a.example'] },
  { sent: ' https://a.example , https://b.example', origins: ['https://a.example', 'https://b.example'] },
  { sent: ['https://a.example'], origins: ['https://a.example'] },
  { sent: ['https://a.example,https://b.example'], origins: ['https://a.example,https://b.example'] },
  { sent: '*', origins: ['*'] },
  { sent: ['*'], origins: ['*'] },
  { sent: 7, origins: ['7'] },
])('allowed_origins is stored from $sent', async ({ sent, origins }) => {
  expect((await server.root.write(path, { allowed_origins: sent })).status).toBe(204)
  expect((await server.root.read(path)).body.data?.allowed_origins).toEqual(origins)
})

test.each([
  { sent: 'X-One, X-Two', headers: ['X-One', 'X-Two'] },
  { sent: ['X-One', 'x-one', 'content-type', ''], headers: ['X-One'] },
  { sent: '', headers: [] },
  { sent: null, headers: [] },
])('allowed_headers is stored from $sent', async ({ sent, headers }) => {
  expect((await server.root.write(path, { allowed_origins: '*', allowed_headers: sent })).status).toBe(204)
  expect((await server.root.read(path)).body.data?.allowed_headers).toEqual([...usual, ...headers])
})

test.each([
  { sent: 'true', credentials: true },
  { sent: 1, credentials: true },
  { sent: null, credentials: false },
  { sent: '', credentials: false },
])('allow_credentials is stored from $sent', async ({ sent, credentials }) => {
  expect((await server.root.write(path, { allowed_origins: '*', allow_credentials: sent })).status).toBe(204)
  expect((await server.root.read(path)).body.data?.allow_credentials).toBe(credentials)
})

describe('refused, with nothing changed', () => {
  const none = caused('at least one origin or the wildcard must be provided')
  const mixed = caused("to allow all origins the '*' must be the only value for allowed_origins")

  test.each([
    { sent: {}, text: none },
    { sent: { allowed_headers: ['X-Mine'] }, text: none },
    { sent: { allowed_origins: '' }, text: none },
    { sent: { allowed_origins: [] }, text: none },
    { sent: { allowed_origins: null }, text: none },
    { sent: { allowed_origins: '*,https://a.example' }, text: mixed },
    { sent: { allowed_origins: ['https://a.example', '*'] }, text: mixed },
    { sent: { allowed_origins: ['*', '*'] }, text: mixed },
    {
      sent: { allowed_origins: '*', allowed_headers: ['X-\r\nSet-Cookie: a=b'] },
      text: 'is not the name of a header',
    },
    { sent: { allowed_origins: '*', allowed_headers: ['X Mine'] }, text: 'is not the name of a header' },
    {
      sent: { allowed_origins: '*', allowed_headers: ['x'.repeat(129)] },
      text: 'is not the name of a header',
    },
    {
      sent: { allowed_origins: '*', allowed_headers: Array.from({ length: 101 }, (_, at) => `X-${at}`) },
      text: 'allowed_headers: more than 100',
    },
    {
      sent: { allowed_origins: Array.from({ length: 1001 }, (_, at) => `https://a${at}`).join() },
      text: 'allowed_origins: more than 1000',
    },
    { sent: { allowed_origins: [`https://${'a'.repeat(1024)}`] }, text: 'longer than 1024 characters' },
    {
      sent: { allowed_origins: { a: 'b' } },
      text: 'Field validation failed: error converting input for field "allowed_origins": ',
    },
    {
      sent: { allowed_origins: '*', allow_credentials: 'maybe' },
      text: 'Field validation failed: error converting input for field "allow_credentials": ',
    },
  ])('$sent', async ({ sent, text }) => {
    await server.root.write(path, { allowed_origins: 'https://kept.example' })

    const answer = await server.root.write(path, sent)

    expect(answer.status).toBe(400)
    expect(errorText(answer.body)).toContain(text)
    expect((await server.root.read(path)).body.data?.allowed_origins).toEqual(['https://kept.example'])
  })
})

describe('who may configure it', () => {
  const clientWith = async (capabilities: string) => {
    await server.root.write('sys/policies/acl/cors', {
      policy: `path "sys/config/cors" { capabilities = [${capabilities}] }`,
    })
    const made = await server.root.write('auth/token/create', { policies: ['cors'] })
    return server.as(String(made.body.auth?.client_token))
  }

  test('nobody without a token may', async () => {
    expect(await server.anonymous.read(path)).toMatchObject({ status: 403, body: notAccepted })
  })

  test('nobody without sudo may', async () => {
    const client = await clientWith('"create", "read", "update", "delete"')

    for (const answer of [
      await client.read(path),
      await client.write(path, { allowed_origins: '*' }),
      await client.delete(path),
    ]) {
      expect(answer).toMatchObject({ status: 403, body: notAllowed })
    }
  })

  test('callers with sudo and update may, because a write is never a creation', async () => {
    const client = await clientWith('"update", "read", "delete", "sudo"')

    expect((await client.write(path, { allowed_origins: '*' })).status).toBe(204)
    expect((await client.read(path)).status).toBe(200)
    expect((await client.delete(path)).status).toBe(204)
  })
})

test.each([
  { name: 'by its header', ask: () => server.root.read(path, { headers: { 'X-Vault-Namespace': 'team' } }) },
  { name: 'by its path', ask: () => server.root.read(`team/${path}`) },
  { name: 'to write', ask: () => server.root.write(`team/${path}`, { allowed_origins: '*' }) },
])('it is unavailable in a namespace: $name', async ({ ask }) => {
  await server.root.write('sys/namespaces/team')

  expect(await ask()).toMatchObject({
    status: 400,
    body: errors('operation only available in root namespace'),
  })
})

test.each(['LIST', 'PATCH', 'HEAD'])('%s is not supported', async (verb) => {
  const headers = { 'Content-Type': 'application/merge-patch+json' }

  expect(
    (await server.root.call(verb, path, verb === 'PATCH' ? {} : undefined, { headers })).status,
  ).toBeGreaterThanOrEqual(404)
})

test('it survives a restart, and applies from the first request on', async () => {
  await using folder = await temporaryFolder()
  const settings = {
    STORAGE: `sqlite:${folder.file('gatehouse.db')}`,
    SEAL_KEY_FILE: folder.file('seal.key'),
    ROOT_TOKEN: 'root',
  }
  {
    await using first = await startTestServer({ settings })
    await first.root.write(path, { allowed_origins: 'https://a.example' })
  }
  await using second = await startTestServer({ settings })

  expect(
    (await second.anonymous.read('sys/health', { headers: { Origin: 'https://b.example' } })).status,
  ).toBe(403)
  expect(
    (await second.anonymous.read('sys/health', { headers: { Origin: 'https://a.example' } })).status,
  ).toBe(200)
})

test('after concurrent writes, the stored configuration is in effect', async () => {
  const origins = Array.from({ length: 20 }, (_, at) => `https://a${at}.example`)

  await Promise.all(origins.map((origin) => server.root.write(path, { allowed_origins: origin })))

  const kept = String((await server.root.read(path)).body.data?.allowed_origins?.[0])
  const statuses = await Promise.all(
    origins.map(
      async (origin) => (await server.root.read('sys/health', { headers: { Origin: origin } })).status,
    ),
  )
  expect(statuses).toEqual(origins.map((origin) => (origin === kept ? 200 : 403)))
})
