import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client } from '../../support/client.ts'
import { invalidToken } from '../../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { aLoginMount } from '../identity/login-mount.ts'

const wrapped = (text: string) => `1 error occurred:\n\t* ${text}\n\n`
const denied = { errors: [wrapped('permission denied')] }
const ui = 'sys/internal/ui/mounts'

/** A client whose token holds one policy. */
async function withPolicy({ root, as }: TestServer, name: string, rules: string): Promise<Client> {
  await root.write(`sys/policies/acl/${name}`, { policy: rules })
  const created = await root.write('auth/token/create', { policies: [name] })
  return as(String(created.body.auth?.client_token))
}

let server: TestServer
let root: Client
let made = 0
const fresh = () => `m${++made}`

beforeAll(async () => {
  server = await startTestServer()
  root = server.root
})
afterAll(() => server[Symbol.asyncDispose]())

describe('a new server', () => {
  test('has its auth mounts, also at the top level of the response', async () => {
    const { status, body } = await root.read('sys/auth')

    expect(status).toBe(200)
    expect(body.data?.['token/']).toMatchObject({
      type: 'token',
      description: 'token based credentials',
      options: null,
    })
    expect(body.data?.['jwt/']).toMatchObject({
      type: 'jwt',
      options: null,
      accessor: expect.stringMatching(/^auth_jwt_[0-9a-f]{8}$/),
    })
    expect(body['jwt/']).toEqual(body.data?.['jwt/'])
  })

  test('has its secrets mounts, and no auth mount among them', async () => {
    const { body } = await root.read('sys/mounts')

    expect(body.data?.['sys/']).toMatchObject({ type: 'system', seal_wrap: true })
    expect(body.data?.['cubbyhole/']).toMatchObject({ type: 'cubbyhole', local: true })
    expect(body.data?.['identity/']).toMatchObject({ type: 'identity' })
    expect(body.data?.['cloud/']).toMatchObject({ type: 'cloud', options: null })
    expect(Object.keys(body.data ?? {}).filter((path) => path.startsWith('auth/'))).toEqual([])
  })
})

test.each([
  { name: 'an auth mount', at: 'sys/auth', type: 'jwt', absent: 'No auth engine at' },
  { name: 'a secrets mount', at: 'sys/mounts', type: 'cloud', absent: 'No secret engine mount at' },
])('$name is enabled, read, tuned and disabled', async ({ at, type, absent }) => {
  const path = `${fresh()}/deep/name`

  expect((await root.read(`${at}/${path}`)).body).toEqual({ errors: [`${absent} ${path}/`] })
  expect((await root.write(`${at}/${path}`, { type, description: 'd' })).status).toBe(204)
  expect((await root.read(`${at}/${path}`)).body.data).toMatchObject({
    type,
    description: 'd',
    options: {},
    config: { max_lease_ttl: 0 },
  })
  expect((await root.read(`${at}/${path}/`)).status).toBe(200)
  expect((await root.call('PUT', `${at}/${path}/tune`, { max_lease_ttl: '1h' })).status).toBe(204)
  expect((await root.read(`${at}/${path}/tune`)).body.data).toMatchObject({
    default_lease_ttl: 2_764_800,
    max_lease_ttl: 3600,
    description: 'd',
  })
  expect((await root.read(at)).body.data?.[`${path}/`]?.config).toMatchObject({
    default_lease_ttl: 0,
    max_lease_ttl: 3600,
  })
  expect((await root.delete(`${at}/${path}`)).status).toBe(204)
  expect((await root.delete(`${at}/${path}`)).status).toBe(204)
  expect((await root.read(`${at}/${path}`)).status).toBe(400)
})

test('a request of the Go client enables a mount, and its null options stay null', async () => {
  const path = fresh()

  const enabled = await root.write(`sys/auth/${path}`, {
    type: 'jwt',
    options: null,
    config: { default_lease_ttl: '', max_lease_ttl: '0s', force_no_cache: false },
  })

  expect(enabled.status).toBe(204)
  expect((await root.read(`sys/auth/${path}`)).body.data).toMatchObject({
    options: null,
    config: { default_lease_ttl: 0, max_lease_ttl: 0 },
  })
})

test('numbers in config are read as their text', async () => {
  const path = fresh()

  await root.write(`sys/auth/${path}`, {
    type: 'jwt',
    config: { default_lease_ttl: 60, max_lease_ttl: 3600 },
  })

  expect((await root.read(`sys/auth/${path}`)).body.data?.config).toMatchObject({
    default_lease_ttl: 60,
    max_lease_ttl: 3600,
  })
})

test.each([
  { at: 'auth/jwt', body: { type: 'jwt' }, text: 'path is already in use at jwt/' },
  { at: 'auth/jwt/sub', body: { type: 'jwt' }, text: 'path is already in use at jwt/' },
  { at: 'auth/token/x', body: { type: 'jwt' }, text: 'path is already in use at token/' },
  { at: 'auth/x', body: {}, text: 'backend type must be specified as a string' },
  { at: 'auth/x', body: { type: null }, text: 'backend type must be specified as a string' },
  { at: 'auth/x', body: { type: 5 }, text: 'plugin not found in the catalog: 5' },
  { at: 'auth/x', body: { type: 'nope' }, text: 'plugin not found in the catalog: nope' },
  { at: 'mounts/sys', body: { type: 'cloud' }, text: 'cannot mount "sys/"' },
  { at: 'mounts/docs/x', body: { type: 'cloud' }, text: 'cannot mount "docs/x/"' },
  { at: 'mounts/x', body: { type: 'system' }, text: 'mount type of "system" is not mountable' },
  {
    at: 'auth/x',
    body: { type: 'jwt', config: { default_lease_ttl: '2h', max_lease_ttl: '1h' } },
    text: 'given default lease TTL greater than given max lease TTL',
  },
  {
    at: 'auth/x',
    body: { type: 'jwt', config: { default_lease_ttl: '9999h' } },
    text: 'given default lease TTL greater than system max lease TTL of 2764800',
  },
  {
    at: 'auth/x',
    body: { type: 'jwt', config: { listing_visibility: 'foo' } },
    text: 'invalid listing_visibility foo',
  },
  {
    at: 'auth/x',
    body: { type: 'jwt', config: { force_no_cache: 1 } },
    text: 'unable to convert given auth config information',
  },
  {
    at: 'auth/x',
    body: { type: 'jwt', config: 'x' },
    text: `Field validation failed: error converting input for field "config": '' expected type 'map[string]interface {}', got unconvertible type 'string'`,
  },
  {
    at: 'auth/x',
    body: { type: 'jwt', options: 'x' },
    text: 'Field validation failed: error converting input for field "options": invalid key pair "x"',
  },
  { at: 'auth/x/', body: { type: 'jwt' }, text: "cannot write to a path ending in '/'" },
  {
    at: 'auth/a%2F%2Fb',
    body: { type: 'jwt' },
    text: "path 'auth/a//b/' does not match cleaned path 'auth/a/b/'",
  },
  {
    at: 'auth/jwt/tune',
    body: { default_lease_ttl: '2h', max_lease_ttl: '1h' },
    text: 'backend max lease TTL of 3600 would be less than backend default lease TTL of 7200',
  },
  {
    at: 'auth/jwt/tune',
    body: { default_lease_ttl: [] },
    text: `Field validation failed: error converting input for field "default_lease_ttl": '' expected type 'string', got unconvertible type '[]interface {}'`,
  },
  {
    at: 'mounts/cloud/tune',
    body: { token_type: 'batch' },
    text: "'token_type' can only be modified on auth mounts",
  },
  {
    at: 'mounts/sys/tune',
    body: { max_lease_ttl: '1h' },
    text: 'cannot tune parameter max_lease_ttl of sys/',
  },
  {
    at: 'auth/none/tune',
    body: { type: 'jwt' },
    text: 'tune of path "auth/none/" failed: no mount entry found',
  },
  { at: 'remount', body: { from: 'cloud' }, text: "both 'from' and 'to' path must be specified as a string" },
  { at: 'remount', body: { from: 'sys', to: 'x' }, text: 'cannot remount "sys/"' },
  { at: 'remount', body: { from: 'cloud', to: 'cloud' }, text: 'path already in use at "cloud/"' },
])('POST sys/$at $body is refused', async ({ at, body, text }) => {
  const before = await Promise.all([root.read('sys/auth'), root.read('sys/mounts')])

  const answer = await root.write(`sys/${at}`, body)

  expect([answer.status, answer.body]).toEqual([400, { errors: [text] }])
  const after = await Promise.all([root.read('sys/auth'), root.read('sys/mounts')])
  expect(after.map(({ body: { data } }) => data)).toEqual(before.map(({ body: { data } }) => data))
})

test.each([
  { call: ['GET', 'auth/none'], status: 400, text: 'No auth engine at none/' },
  { call: ['GET', 'auth/jwt/x'], status: 400, text: 'No auth engine at jwt/x/' },
  { call: ['GET', 'mounts/none'], status: 400, text: 'No secret engine mount at none/' },
  { call: ['GET', 'mounts/clou'], status: 400, text: 'No secret engine mount at clou/' },
  { call: ['GET', 'auth/none/tune'], status: 400, text: 'cannot fetch sysview for path "auth/none/"' },
  { call: ['GET', 'mounts/none/tune'], status: 400, text: 'cannot fetch sysview for path "none/"' },
  { call: ['DELETE', 'auth/token'], status: 400, text: 'token credential backend cannot be disabled' },
  { call: ['DELETE', 'mounts/sys'], status: 400, text: 'cannot unmount "sys/"' },
  { call: ['DELETE', 'mounts/cloud/tune'], status: 405, text: wrapped('unsupported operation') },
  { call: ['PATCH', 'auth/jwt'], status: 405, text: wrapped('unsupported operation') },
  { call: ['GET', 'auth/'], status: 404, text: wrapped('unsupported path') },
  { call: ['GET', 'mounts/'], status: 404, text: wrapped('unsupported path') },
  { call: ['LIST', 'auth'], status: 404, text: wrapped('unsupported path') },
  { call: ['DELETE', 'auth'], status: 405, text: wrapped('unsupported operation') },
  { call: ['GET', 'remount'], status: 405, text: wrapped('unsupported operation') },
])('$call is $status', async ({ call: [verb = '', path = ''], status, text }) => {
  const headers: Record<string, string> =
    verb === 'PATCH' ? { 'Content-Type': 'application/merge-patch+json' } : {}

  const answer = await root.call(verb, `sys/${path}`, verb === 'PATCH' ? {} : undefined, { headers })

  expect([answer.status, answer.body]).toEqual([status, { errors: [text] }])
})

test.each([
  { path: 'mounts/cloud/x/y', type: 'cloud' },
  { path: 'mounts/auth/jwt', type: 'jwt' },
  { path: 'mounts/sys', type: 'system' },
  { path: 'auth/token', type: 'token' },
])('GET sys/$path finds the $type mount', async ({ path, type }) => {
  expect((await root.read(`sys/${path}`)).body.data?.type).toBe(type)
})

test('the tuning of an auth mount is available below both tables', async () => {
  const tuning = {
    default_lease_ttl: 2_764_800,
    description: '',
    force_no_cache: false,
    max_lease_ttl: 2_764_800,
    token_type: 'default-service',
  }

  expect((await root.read('sys/auth/jwt/tune')).body.data).toEqual(tuning)
  expect((await root.read('sys/mounts/auth/jwt/tune')).body.data).toEqual(tuning)
})

test('a mount serves requests exactly as long as it exists', async () => {
  const path = fresh()
  const gone = { errors: [`no handler for route "auth/${path}/nothing-here". route entry not found.`] }

  expect((await root.read(`auth/${path}/nothing-here`)).body).toEqual(gone)
  await root.write(`sys/auth/${path}`, { type: 'jwt' })
  expect((await root.read(`auth/${path}/nothing-here`)).body).not.toEqual(gone)
  await root.delete(`sys/auth/${path}`)
  expect((await root.read(`auth/${path}/nothing-here`)).body).toEqual(gone)
})

test('a mount that is created again at the same path has other ids', async () => {
  const path = fresh()
  await root.write(`sys/mounts/${path}`, { type: 'cloud' })
  const before = await root.read(`sys/mounts/${path}`)

  await root.delete(`sys/mounts/${path}`)
  await root.write(`sys/mounts/${path}`, { type: 'cloud' })
  const after = await root.read(`sys/mounts/${path}`)

  expect(after.body.data?.uuid).not.toBe(before.body.data?.uuid)
  expect(after.body.data?.accessor).not.toBe(before.body.data?.accessor)
})

test('a mount keeps its ids when it moves, and has moved when the response arrives', async () => {
  const [from, to] = [fresh(), `${fresh()}/deep`]
  await root.write(`sys/auth/${from}`, { type: 'jwt', description: 'd' })
  const before = await root.read(`sys/auth/${from}`)

  const { status, body } = await root.write('sys/remount', { from: `auth/${from}`, to: `auth/${to}` })

  expect(status).toBe(200)
  expect(body.warnings).toEqual([expect.stringMatching(/^Mount move has been queued\./)])
  expect((await root.read(`sys/remount/status/${String(body.data?.migration_id)}`)).body.data).toEqual({
    migration_id: body.data?.migration_id,
    migration_info: { source_mount: `auth/${from}/`, status: 'success', target_mount: `auth/${to}/` },
  })
  expect((await root.read(`sys/auth/${to}`)).body.data).toEqual(before.body.data)
  expect((await root.read(`sys/auth/${from}`)).status).toBe(400)
})

test('the state of an unknown move is 404', async () => {
  const answer = await root.read('sys/remount/status/1f0c7d0e-0000-0000-0000-000000000000')

  expect([answer.status, answer.body]).toEqual([404, { errors: [] }])
})

test('tokens of a disabled mount are invalid, also at a new mount on its path', async () => {
  const path = fresh()
  const before = await (await aLoginMount(server, path)).login('alice')
  const { body } = await before.client.write('auth/token/create', {})
  expect((await root.delete(`sys/auth/${path}`)).status).toBe(204)

  const after = await (await aLoginMount(server, path)).login('alice')

  for (const token of [before.token, String(body.auth?.client_token)]) {
    expect((await server.as(token).read('auth/token/lookup-self')).body).toEqual(invalidToken)
  }
  expect((await after.client.read('auth/token/lookup-self')).status).toBe(200)
  expect(after.entityId).not.toBe(before.entityId)
})

describe('rights', () => {
  test('every call below sys/auth requires sudo, and none below sys/mounts does', async () => {
    const path = fresh()
    await root.write(`sys/mounts/${path}`, { type: 'cloud' })
    const caller = await withPolicy(
      server,
      'no-sudo',
      'path "sys/auth/*" { capabilities = ["read", "update", "delete"] }\npath "sys/mounts/*" { capabilities = ["read", "update", "delete"] }',
    )

    for (const answer of [
      await caller.read('sys/auth/jwt'),
      await caller.read('sys/auth/jwt/tune'),
      await caller.write('sys/auth/new', { type: 'jwt' }),
      await caller.write('sys/auth/jwt/tune', { description: 'x' }),
      await caller.delete('sys/auth/jwt'),
    ]) {
      expect([answer.status, answer.body]).toEqual([403, denied])
    }
    expect((await caller.read('sys/mounts/auth/jwt')).body.data?.type).toBe('jwt')
    expect((await caller.write(`sys/mounts/${path}/tune`, { description: 'by the caller' })).status).toBe(204)
    expect((await caller.delete(`sys/mounts/${path}`)).status).toBe(204)
  })

  test('enabling a mount is an update, so create is not enough', async () => {
    const caller = await withPolicy(
      server,
      'create-only',
      'path "sys/auth/*" { capabilities = ["create", "sudo"] }',
    )

    const answer = await caller.write('sys/auth/new', { type: 'nope' })

    expect([answer.status, answer.body]).toEqual([403, denied])
  })

  test('the tables are listed for callers who may read them', async () => {
    const caller = await withPolicy(server, 'lists', 'path "sys/auth" { capabilities = ["read"] }')

    expect((await caller.read('sys/auth')).status).toBe(200)
    expect((await caller.read('sys/mounts')).status).toBe(403)
    expect((await server.anonymous.read('sys/auth')).body).toEqual({ errors: ['permission denied'] })
  })
})

describe('listings for user interfaces', () => {
  test('show no invisible mount to unauthenticated callers', async () => {
    await using quiet = await startTestServer()

    expect((await quiet.anonymous.read(ui)).body.data).toEqual({ auth: {}, secret: {} })
  })

  test('show visible mounts with only their description, options and type', async () => {
    const [open, hidden] = [fresh(), fresh()]
    await root.write(`sys/auth/${open}`, {
      type: 'jwt',
      description: 'shown',
      config: { listing_visibility: 'unauth' },
    })
    await root.write(`sys/auth/${hidden}`, { type: 'jwt', config: { listing_visibility: 'hidden' } })

    const { body } = await server.anonymous.read(ui)

    expect(body.data?.auth?.[`${open}/`]).toEqual({ description: 'shown', options: {}, type: 'jwt' })
    expect(body.data?.auth?.[`${hidden}/`]).toBeUndefined()
  })

  test('show a caller the mounts on or below which it has a right, in full, and the visible ones', async () => {
    const [mine, other, open] = [fresh(), fresh(), fresh()]
    for (const path of [mine, other])
      await root.write(`sys/auth/${path}`, { type: 'jwt', config: { listing_visibility: 'hidden' } })
    await root.write(`sys/auth/${open}`, { type: 'jwt', config: { listing_visibility: 'unauth' } })
    const rules = `path "auth/${mine}/role/*" { capabilities = ["read"] }\npath "auth/${other}/role/*" { capabilities = ["deny"] }`
    const caller = await withPolicy(server, 'ui', rules)

    const { body } = await caller.read(ui)

    expect(body.data?.auth?.[`${mine}/`]).toEqual((await root.read(`sys/auth/${mine}`)).body.data)
    expect(body.data?.auth?.[`${other}/`]).toBeUndefined()
    expect(body.data?.auth?.[`${open}/`]?.uuid).toBeDefined()
  })

  test('refuse an unknown token', async () => {
    const answer = await server.as('hvs.none').read(ui)

    expect([answer.status, answer.body]).toEqual([403, invalidToken])
  })

  test.each([
    { verb: 'LIST', status: 404 },
    { verb: 'POST', status: 405 },
  ])('answer $verb with $status', async ({ verb, status }) => {
    expect((await server.anonymous.call(verb, ui)).status).toBe(status)
  })

  test('name the mount of a path, for callers with a right there', async () => {
    const path = fresh()
    await root.write(`sys/mounts/${path}`, { type: 'cloud', config: { listing_visibility: 'unauth' } })
    const caller = await withPolicy(server, 'ui-one', `path "${path}/roles/*" { capabilities = ["read"] }`)
    const preflight = (asked: string) => ({
      errors: [
        `preflight capability check returned 403, please ensure client's policies grant access to path "${asked}"`,
      ],
    })

    expect((await caller.read(`${ui}/${path}/roles/x`)).body.data).toEqual({
      ...(await root.read(`sys/mounts/${path}`)).body.data,
      path: `${path}/`,
    })
    expect((await root.read(`${ui}/auth/jwt/role/x`)).body.data?.path).toBe('jwt/')
    for (const [client, asked, body] of [
      [server.anonymous, path, { errors: ['permission denied'] }],
      [server.as('bad'), path, invalidToken],
      [caller, 'auth/jwt/role/x', preflight('auth/jwt/role/x/')],
      [caller, 'none', preflight('none/')],
      [root, 'none', preflight('none/')],
    ] as const) {
      const answer = await client.read(`${ui}/${asked}`)
      expect([answer.status, answer.body]).toEqual([403, body])
    }
  })
})

test('a server without default mounts has the fixed ones only', async () => {
  await using bare = await startTestServer({ settings: { DEFAULT_MOUNTS: '' } })

  expect(Object.keys((await bare.root.read('sys/auth')).body.data ?? {})).toEqual(['token/'])
  expect(Object.keys((await bare.root.read('sys/mounts')).body.data ?? {})).toEqual([
    'cubbyhole/',
    'identity/',
    'sys/',
  ])
})
