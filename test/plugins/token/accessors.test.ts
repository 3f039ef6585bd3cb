import { expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import { shared } from '../../support/shared.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'

const wrapped = (text: string) => ({ errors: [`1 error occurred:\n\t* ${text}\n\n`] })
const accessorsOf = async (server: TestServer, query = '') =>
  (await server.root.list(`auth/token/accessors${query}`)).body.data?.keys as unknown as string[]

const create = async (server: TestServer, input: object = {}) =>
  (await server.root.write('auth/token/create', { policies: ['default'], ...input })).body.auth

/** For tests of single tokens, which need no other ones to be absent. */
const sharedServer = shared(() => startTestServer())

test('the accessors of valid service tokens are listed', async () => {
  const clock = new FakeClock()
  await using server = await startTestServer({ clock })
  const kept = await create(server)
  const short = await create(server, { ttl: 60 })
  await create(server, { type: 'batch' })
  expect(await accessorsOf(server)).toHaveLength(3)

  clock.advance(61)

  const keys = await accessorsOf(server)
  expect(keys).toContain(kept?.accessor)
  expect(keys).not.toContain(short?.accessor)
  expect(keys).toHaveLength(2)
})

test('a list continues where the last one ended, even after a token that no longer exists', async () => {
  await using server = await startTestServer()
  for (let number = 0; number < 9; number += 1) await create(server)
  const all = await accessorsOf(server)
  const own = String((await server.root.read('auth/token/lookup-self')).body.data?.accessor)

  const pages: string[][] = []
  for (let after = ''; pages.length < 5; after = pages.at(-1)?.at(-1) ?? '') {
    pages.push(await accessorsOf(server, `?limit=2&after=${after}`))
    const accessor = pages.at(-1)?.at(-1)
    if (accessor !== own) await server.root.write('auth/token/revoke-accessor', { accessor })
  }

  expect(pages.flat()).toEqual(all)
  expect(await server.root.list(`auth/token/accessors?after=${all.at(-1)}`)).toMatchObject({
    status: 404,
    body: { errors: [] },
  })
  expect((await server.root.list('auth/token/accessors?limit=x')).status).toBe(400)
})

test('the list requires sudo, with and without a trailing slash', async () => {
  const server = await sharedServer()
  const as = async (capabilities: string) => {
    await server.root.write('sys/policies/acl/p', {
      policy: `path "auth/token/accessors*" { capabilities = [${capabilities}] }`,
    })
    return server.as(String((await create(server, { policies: ['p'] }))?.client_token))
  }

  for (const path of ['auth/token/accessors', 'auth/token/accessors/']) {
    expect(await (await as('"list"')).call('LIST', path)).toMatchObject({
      status: 403,
      body: wrapped('permission denied'),
    })
    expect((await (await as('"list", "sudo"')).call('LIST', path)).status).toBe(200)
  }
})

test('a list has details, and the tokens of one entity, for whoever may look accessors up', async () => {
  const server = await sharedServer()
  await server.root.write('auth/token/roles/people', { allowed_entity_aliases: '*', orphan: true })
  const ofAda = { entity_alias: 'ada', policies: ['default'], display_name: 'laptop', ttl: 600, num_uses: 9 }
  const made = (await server.root.write('auth/token/create/people', ofAda)).body.auth
  await server.root.write('auth/token/create/people', ofAda)
  await server.root.write('auth/token/create/people', { ...ofAda, entity_alias: 'eva' })
  const { id } = (await server.root.write('identity/entity', { name: 'grace' })).body.data ?? {}
  await server.root.write('identity/entity/merge', { from_entity_ids: [made?.entity_id], to_entity_id: id })
  const query = `?detailed=true&entity_id=${id}`

  const { keys, tokens } = (await server.root.list(`auth/token/accessors${query}`)).body.data ?? {}

  expect(keys).toHaveLength(2)
  expect([tokens].flat()).toContainEqual({
    accessor: made?.accessor,
    display_name: 'token-laptop',
    path: 'auth/token/create/people',
    policies: ['default'],
    entity_id: made?.entity_id,
    orphan: true,
    creation_time: expect.any(Number),
    expire_time: expect.any(String),
    ttl: expect.any(Number),
    num_uses: 9,
  })
  expect((await server.root.list(`auth/token/accessors${query}&limit=1`)).body.data?.keys).toHaveLength(1)
  await server.root.write('sys/policies/acl/lister', {
    policy: 'path "auth/token/accessors" { capabilities = ["list", "sudo"] }',
  })
  const lister = server.as(String((await create(server, { policies: ['lister'] }))?.client_token))
  expect((await lister.list('auth/token/accessors')).status).toBe(200)
  expect((await lister.list('auth/token/accessors?detailed=true')).status).toBe(403)
  expect((await lister.list(`auth/token/accessors?entity_id=${id}`)).status).toBe(403)
})

test('tidy starts in the background', async () => {
  const server = await sharedServer()

  const { status, body } = await server.root.write('auth/token/tidy')

  expect(status).toBe(202)
  expect(body).toMatchObject({
    data: null,
    warnings: [
      "Tidy operation successfully started. Any information from the operation will be printed to Gatehouse's server logs.",
    ],
  })
  expect(await server.root.read('auth/token/tidy')).toMatchObject({
    status: 405,
    body: wrapped('unsupported operation'),
  })
})

test.each([
  { path: 'auth/token/renew-self', text: 'batch tokens cannot be renewed', own: true },
  { path: 'auth/token/revoke-self', text: 'batch tokens cannot be revoked', own: true },
  { path: 'auth/token/renew', text: 'batch tokens cannot be renewed', own: false },
  { path: 'auth/token/revoke', text: 'batch tokens cannot be revoked', own: false },
  { path: 'auth/token/revoke-orphan', text: 'batch tokens cannot be revoked', own: false },
  { path: 'auth/token/create', text: 'batch tokens cannot create more tokens', own: true },
])('$path refuses a batch token', async ({ path, text, own }) => {
  const server = await sharedServer()
  await server.root.write('sys/policies/acl/all', {
    policy: 'path "*" { capabilities = ["create", "read", "update", "sudo"] }',
  })
  const token = String((await create(server, { type: 'batch', policies: ['all'] }))?.client_token)

  const answer = own ? await server.as(token).write(path) : await server.root.write(path, { token })

  expect(answer).toMatchObject({ status: 400, body: { errors: [text] } })
  expect((await server.as(token).read('auth/token/lookup-self')).body.data).toMatchObject({
    id: token,
    accessor: '',
    type: 'batch',
  })
})

test('a batch token has no cubbyhole', async () => {
  const server = await sharedServer()
  const batch = server.as(String((await create(server, { type: 'batch' }))?.client_token))

  expect(await batch.write('cubbyhole/a', { b: 'c' })).toMatchObject({
    status: 400,
    body: { errors: ["cubbyhole operations are only supported by 'service' type tokens"] },
  })
})

test('a lookup shows the content of a batch token', async () => {
  const server = await sharedServer()
  const token = (await create(server, { type: 'batch', ttl: 60, meta: { a: 'b' }, display_name: 'x' }))
    ?.client_token

  const shown = (await server.root.write('auth/token/lookup', { token })).body.data

  expect(shown).toMatchObject({
    display_name: 'token-x',
    meta: { a: 'b' },
    creation_ttl: 60,
    renewable: false,
    num_uses: 0,
    orphan: false,
  })
})
