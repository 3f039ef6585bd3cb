import { expect, test } from 'vitest'
import { invalidToken } from '../../support/error-bodies.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { shared } from '../../support/shared.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'

/** For tests that leave nothing behind on which another depends. */
const ofFile = shared(() => startTestServer())
const bareDenied = { errors: ['permission denied'] }
const wrapped = (text: string) => ({ errors: [`1 error occurred:\n\t* ${text}\n\n`] })
const createRule = 'path "auth/token/create" { capabilities = ["update"] }'

async function makeToken(server: TestServer, input: object = {}) {
  const { auth } = (await server.root.write('auth/token/create', input)).body
  return { id: `${auth?.client_token}`, accessor: `${auth?.accessor}` }
}

/** A token with `default` and one policy of this text. */
async function makeCaller(server: TestServer, policy: string, input: object = {}) {
  await server.root.write('sys/policies/acl/p', { policy })
  return server.as((await makeToken(server, { policies: ['p'], ...input })).id)
}

test('create returns an auth block, warnings, and no data', async () => {
  const server = await ofFile()

  const { status, body } = await server.root.write('auth/token/create', {
    policies: ['web', 'default'],
    ttl: 3600,
    meta: { user: 'armon' },
    zeta: 1,
    alpha: 2,
  })

  expect(status).toBe(200)
  expect(body).toMatchObject({
    data: null,
    lease_id: '',
    warnings: ['Policy "web" does not exist', 'Endpoint ignored these unrecognized parameters: [alpha zeta]'],
  })
  expect(body.auth).toMatchObject({
    policies: ['default', 'web'],
    lease_duration: 3600,
    renewable: true,
    metadata: { user: 'armon' },
    orphan: false,
  })
})

test.each([
  {
    row: 'a number of seconds as text',
    input: { ttl: '3600', num_uses: '3', renewable: 'false' },
    auth: { lease_duration: 3600, num_uses: 3, renewable: false },
  },
  { row: 'days', input: { ttl: '2d' }, auth: { lease_duration: 172800 } },
  { row: 'fractions are cut', input: { ttl: '90.7s' }, auth: { lease_duration: 90 } },
  { row: 'null', input: { ttl: null, renewable: null, policies: null }, auth: { policies: ['root'] } },
  { row: 'one text is one policy', input: { policies: 'a,b' }, auth: { policies: ['a,b', 'default'] } },
])('$row: create $input', async ({ input, auth }) => {
  const server = await ofFile()

  expect(
    (await server.root.write('auth/token/create', { policies: ['default'], ...input })).body.auth,
  ).toMatchObject(auth)
})

test.each([
  { field: 'policies', value: { a: 'b' } },
  { field: 'renewable', value: 'yes' },
  { field: 'num_uses', value: 'x' },
  { field: 'ttl', value: ['1h'] },
])('create refuses $field as $value', async ({ field, value }) => {
  const server = await ofFile()

  const { status, body } = await server.root.write('auth/token/create', { [field]: value })

  expect(status).toBe(400)
  expect(body.errors?.[0]).toContain(`Field validation failed: error converting input for field "${field}": `)
})

test('sudo on the request path decides what a caller may ask for', async () => {
  const server = await ofFile()
  const plain = await makeCaller(server, createRule)

  expect(await plain.write('auth/token/create', { period: '1h' })).toMatchObject({
    status: 400,
    body: { errors: ['root or sudo privileges required to create periodic token'] },
  })
  await server.root.write('sys/policies/acl/p', {
    policy: createRule.replace('"update"', '"update", "sudo"'),
  })
  expect(await plain.write('auth/token/create', { period: '1h', id: 'own', policies: ['db'] })).toMatchObject(
    { status: 200, body: { auth: { client_token: 'own' } } },
  )
  expect(await plain.write('auth/token/create-orphan')).toMatchObject({
    status: 403,
    body: wrapped('permission denied'),
  })
})

test.each([
  { method: 'POST', path: 'auth/token/create/nope', status: 400, body: { errors: ['unknown role nope'] } },
  { method: 'DELETE', path: 'auth/token/create', status: 405, body: wrapped('unsupported operation') },
  { method: 'GET', path: 'auth/token/create', status: 405, body: wrapped('unsupported operation') },
  { method: 'LIST', path: 'auth/token/create', status: 404, body: wrapped('unsupported path') },
  { method: 'GET', path: 'auth/token/lookup/root', status: 404, body: wrapped('unsupported path') },
  { method: 'POST', path: 'auth/token/nothing', status: 404, body: wrapped('unsupported path') },
  { method: 'PUT', path: 'auth/token/renew', status: 400, body: { errors: ['missing token ID'] } },
  { method: 'PUT', path: 'auth/token/revoke', status: 400, body: { errors: ['missing token ID'] } },
  { method: 'PUT', path: 'auth/token/revoke-orphan', status: 400, body: { errors: ['missing token ID'] } },
  { method: 'POST', path: 'auth/token/lookup-accessor', status: 400, body: wrapped('missing accessor') },
  { method: 'POST', path: 'auth/token/renew-accessor', status: 400, body: wrapped('missing accessor') },
  { method: 'POST', path: 'auth/token/revoke-accessor', status: 400, body: wrapped('missing accessor') },
])('$method $path without fields is $status', async ({ method, path, status, body }) => {
  const server = await ofFile()

  expect(await server.root.call(method, path)).toMatchObject({ status, body })
})

test.each([
  { path: 'auth/token/lookup', field: 'token', status: 403, body: { errors: ['bad token'] } },
  { path: 'auth/token/lookup-accessor', field: 'accessor', status: 400, body: wrapped('invalid accessor') },
  { path: 'auth/token/renew', field: 'token', status: 400, body: { errors: ['token not found'] } },
  { path: 'auth/token/renew-accessor', field: 'accessor', status: 400, body: wrapped('invalid accessor') },
  { path: 'auth/token/revoke', field: 'token', status: 204, body: undefined },
  {
    path: 'auth/token/revoke-accessor',
    field: 'accessor',
    status: 200,
    body: { data: null, warnings: ['No token found with this accessor'] },
  },
  {
    path: 'auth/token/revoke-orphan',
    field: 'token',
    status: 400,
    body: { errors: ['token to revoke not found'] },
  },
])('$path of an unknown $field is $status', async ({ path, field, status, body }) => {
  const server = await ofFile()

  const answer = await server.root.write(path, { [field]: 'hvs.nobody' })

  expect(answer.status).toBe(status)
  if (body === undefined) expect(answer.text).toBe('')
  else expect(answer.body).toMatchObject(body)
})

test.each(['lookup', 'renew', 'revoke', 'revoke-orphan'])(
  '%s refuses a token that is not a text, before the caller is checked',
  async (path) => {
    const server = await ofFile()

    for (const token of [123, null, ['root'], { a: 1 }]) {
      for (const caller of [server.root, server.anonymous]) {
        expect(await caller.write(`auth/token/${path}`, { token })).toMatchObject({
          status: 403,
          body: { errors: ['invalid token'] },
        })
      }
    }
  },
)

test('lookup, lookup-self and lookup-accessor show the same token, the last without its id', async () => {
  const server = await ofFile()
  const { id, accessor } = await makeToken(server, { policies: ['default'], ttl: '1h' })

  const self = (await server.as(id).read('auth/token/lookup-self')).body.data
  const other = (await server.root.write('auth/token/lookup', { token: id })).body.data
  const query = (await server.root.read(`auth/token/lookup?token=${id}`)).body.data
  const byAccessor = (await server.root.write('auth/token/lookup-accessor', { accessor })).body.data

  expect(self).toMatchObject({
    id,
    accessor,
    path: 'auth/token/create',
    display_name: 'token',
    creation_ttl: 3600,
    type: 'service',
  })
  const same = { ...self, ttl: expect.any(Number) }
  for (const data of [other, query, { ...byAccessor, id }]) expect(data).toEqual(same)
  expect(byAccessor?.id).toBe('')
})

test('lookup without a token shows the caller, and lookup-self ignores a token in the request', async () => {
  const server = await ofFile()
  const { id } = await makeToken(server)

  expect((await server.as(id).read('auth/token/lookup')).body.data?.id).toBe(id)
  expect((await server.as(id).write('auth/token/lookup-self', { token: 'root' })).body.data?.id).toBe(id)
})

test('the default policy allows GET lookup-self, not POST', async () => {
  const server = await ofFile()
  const { id } = await makeToken(server, { policies: ['default'] })

  expect((await server.as(id).read('auth/token/lookup-self')).status).toBe(200)
  expect(await server.as(id).write('auth/token/lookup-self')).toMatchObject({
    status: 403,
    body: wrapped('permission denied'),
  })
})

test('a request without a token is refused', async () => {
  const server = await ofFile()

  expect(await server.anonymous.read('auth/token/lookup-self')).toMatchObject({
    status: 403,
    body: bareDenied,
  })
})

test('the last use shows −1 and is the last', async () => {
  const server = await ofFile()
  const { id, accessor } = await makeToken(server, { policies: ['default'], num_uses: 2 })

  expect((await server.as(id).read('auth/token/lookup-self')).body.data?.num_uses).toBe(1)
  expect((await server.as(id).read('auth/token/lookup-self')).body.data).toMatchObject({
    num_uses: -1,
    ttl: expect.any(Number),
    renewable: true,
  })
  expect(await server.as(id).read('auth/token/lookup-self')).toMatchObject({
    status: 403,
    body: invalidToken,
  })
  expect((await server.root.write('auth/token/lookup-accessor', { accessor })).status).toBe(400)
})

test.each([
  { verb: 'GET', path: 'auth/token/lookup-self' },
  { verb: 'POST', path: 'auth/token/lookup' },
])('$verb $path with the last use shows the time the token had left', async ({ verb, path }) => {
  const server = await ofFile()
  const caller = await makeCaller(server, 'path "auth/token/lookup" { capabilities = ["update"] }', {
    ttl: '1h',
    num_uses: 1,
  })

  const { body } = await caller.call(verb, path, verb === 'GET' ? undefined : {})

  expect(body.data).toMatchObject({ num_uses: -1, renewable: true })
  expect(body.data?.['ttl']).toBeGreaterThan(3590)
})

test.each([
  { path: 'auth/token/renew-self', input: {}, text: 'token not found' },
  { path: 'sys/capabilities-self', input: { path: 'secret/x' }, text: 'invalid token' },
])('$path with the last use: there is no token any more', async ({ path, input, text }) => {
  const server = await ofFile()
  const { id } = await makeToken(server, { policies: ['default'], num_uses: 1 })

  expect(await server.as(id).write(path, input)).toMatchObject({ status: 400, body: { errors: [text] } })
  expect(await server.as(id).write(path, input)).toMatchObject({ status: 403, body: invalidToken })
})

test('a refused request costs a use', async () => {
  const server = await ofFile()
  const { id } = await makeToken(server, { policies: ['default'], num_uses: 2 })

  expect(await server.as(id).read('sys/policies/acl/default')).toMatchObject({
    status: 403,
    body: wrapped('permission denied'),
  })
  expect((await server.as(id).read('auth/token/lookup-self')).body.data?.num_uses).toBe(-1)
})

test('renew-self and renew return the whole auth block, and renewal by accessor omits the id', async () => {
  const server = await ofFile()
  const { id, accessor } = await makeToken(server, { policies: ['default'], ttl: '1h' })

  const self = await server.as(id).write('auth/token/renew-self', { increment: '30m' })
  const other = await server.root.call('PUT', 'auth/token/renew', { token: id, increment: 60 })
  const byAccessor = await server.root.write('auth/token/renew-accessor', { accessor })

  expect(self.body.auth).toMatchObject({
    client_token: id,
    accessor,
    lease_duration: 1800,
    policies: ['default'],
    orphan: false,
  })
  expect(other.body.auth).toMatchObject({ client_token: id, lease_duration: 60 })
  expect(byAccessor.body.auth).toMatchObject({ client_token: '', accessor, lease_duration: 60 })
})

test('an increment below zero is refused', async () => {
  const server = await ofFile()

  const { status, body } = await server.root.write('auth/token/renew-self', { increment: '-1h' })

  expect(status).toBe(400)
  expect(body.errors?.[0]).toBe(
    `Field validation failed: error converting input for field "increment": cannot provide negative value '-3600'`,
  )
})

test('the development root token is not renewable', async () => {
  const server = await ofFile()

  expect(await server.root.write('auth/token/renew-self')).toMatchObject({
    status: 400,
    body: { errors: ['lease is not renewable'] },
  })
})

test.each(['revoke-self', 'revoke', 'revoke-accessor'])(
  '%s ends a token, its children and their cubbyholes',
  async (path) => {
    const server = await ofFile()
    const { id, accessor } = await makeToken(server, { policies: ['root'], ttl: '1h' })
    const child = server.as(
      `${(await server.as(id).write('auth/token/create', { policies: ['default'] })).body.auth?.client_token}`,
    )
    await child.write('cubbyhole/a', { secret: 'x' })
    const sent = { 'revoke-self': {}, revoke: { token: id }, 'revoke-accessor': { accessor } }[path]

    const answer = await server.as(id).write(`auth/token/${path}`, sent)

    expect(answer).toMatchObject({ status: 204, text: '' })
    for (const caller of [server.as(id), child])
      expect(await caller.read('auth/token/lookup-self')).toMatchObject({ status: 403, body: invalidToken })
  },
)

test('revoke-orphan requires sudo and keeps the children', async () => {
  const server = await ofFile()
  const { id } = await makeToken(server)
  const child = (await server.as(id).write('auth/token/create')).body.auth?.client_token
  const plain = await makeCaller(server, 'path "auth/token/revoke-orphan" { capabilities = ["update"] }')

  const refused = await plain.write('auth/token/revoke-orphan', { token: id })
  const done = await server.root.write('auth/token/revoke-orphan', { token: id })

  expect(refused).toMatchObject({
    status: 400,
    body: { errors: ['root or sudo privileges required to revoke and orphan'] },
  })
  expect(done.status).toBe(204)
  expect((await server.as(`${child}`).read('auth/token/lookup-self')).body.data?.orphan).toBe(true)
})

test('an expired token is refused at once and cannot be renewed', async () => {
  const clock = new FakeClock()
  await using server = await startTestServer({ clock })
  const { id } = await makeToken(server, { policies: ['default'], ttl: 60 })

  clock.advance(60)

  expect(await server.as(id).read('auth/token/lookup-self')).toMatchObject({
    status: 403,
    body: invalidToken,
  })
  expect(await server.root.write('auth/token/renew', { token: id })).toMatchObject({
    status: 400,
    body: { errors: ['token not found'] },
  })
  expect(await server.root.write('auth/token/lookup', { token: id })).toMatchObject({
    status: 403,
    body: { errors: ['bad token'] },
  })
})

test('a token of many megabytes is refused like an unknown one', async () => {
  const server = await ofFile()

  expect(await server.root.write('auth/token/lookup', { token: 'x'.repeat(8 * 1024 * 1024) })).toMatchObject({
    status: 403,
    body: { errors: ['bad token'] },
  })
})

test.each([
  { path: 'sys/internal/ui/mounts', status: 200 },
  { path: 'sys/internal/ui/mounts/cubbyhole/x', status: 200 },
  { path: 'sys/internal/ui/mounts/none', status: 403 },
  { path: 'sys/seal-status', status: 200 },
])('$path, which needs no token, costs no use of one that is sent', async ({ path, status }) => {
  const server = await ofFile()
  const caller = server.as((await makeToken(server, { policies: ['default'], num_uses: 3 })).id)

  for (let time = 0; time < 5; time += 1) expect((await caller.read(path)).status).toBe(status)

  expect((await caller.read('auth/token/lookup-self')).body.data).toMatchObject({ num_uses: 2 })
})

test.each([
  { name: 'metadata', fields: { meta: { a: 'x'.repeat(1_048_576) } } },
  { name: 'a display name', fields: { display_name: 'x'.repeat(1_048_576) } },
  {
    name: 'policies',
    fields: { policies: Array.from({ length: 40 }, (_, at) => `${at}${'x'.repeat(30_000)}`) },
  },
])(
  '$name of more than 1 MiB is refused, because each use of the token would cost its size',
  async ({ fields }) => {
    const server = await ofFile()

    const answer = await server.root.write('auth/token/create', { policies: ['web'], ...fields })

    expect(answer.status).toBe(400)
    expect(answer.text).toMatch(
      /^\{"errors":\["put failed due to value being too large; got \d{7} bytes, max: 1048576 bytes"\]\}/,
    )
  },
)
