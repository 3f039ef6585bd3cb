import { expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { aLoginMount, type LoginMount, verdict } from './login-mount.ts'

const day = 86_400

async function aFixture(): Promise<
  { server: TestServer; clock: FakeClock; ci: LoginMount } & AsyncDisposable
> {
  const clock = new FakeClock(Date.UTC(2026, 0, 2, 3, 4, 5))
  const server = await startTestServer({ clock })
  return {
    server,
    clock,
    ci: await aLoginMount(server, 'ci'),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

const tidy = async (server: TestServer, fields: object = {}) =>
  (await server.root.write('identity/tidy', { unused_for: '90d', ...fields })).body.data

const isThere = async (server: TestServer, id: string) =>
  (await server.root.read(`identity/entity/id/${id}`)).status === 200

test('entities of one-time subjects are counted, then deleted, with a sample', async () => {
  await using fixture = await aFixture()
  const { server, clock, ci } = fixture
  const runs = []
  for (let at = 0; at < 12; at += 1) runs.push(await ci.login(`run-${at}`))
  clock.advance(91 * day)

  expect(await tidy(server, { dry_run: true })).toMatchObject({ count: 12, dry_run: true })
  expect(await isThere(server, runs[0]?.entityId ?? '')).toBe(true)
  const done = await tidy(server)

  expect(done).toMatchObject({ count: 12, dry_run: false })
  expect(done?.sample).toHaveLength(10)
  const [first] = Object.values(done?.sample ?? {})
  expect(first).toMatchObject({
    id: expect.any(String),
    name: expect.stringMatching(/^entity_/),
    last_login_day: '2026-01-02',
  })
  expect(first?.aliases).toMatchObject([{ mount_path: 'auth/ci/' }])
  expect((await server.root.list('identity/entity/id')).status).toBe(404)
  expect((await server.root.list('identity/entity-alias/id')).status).toBe(404)
  expect(await tidy(server)).toMatchObject({ count: 0, sample: [] })
  expect((await ci.login('run-0')).answer.status).toBe(200)
})

test('a client deletes entities some at a time', async () => {
  await using fixture = await aFixture()
  const { server, clock, ci } = fixture
  for (let at = 0; at < 5; at += 1) await ci.login(`run-${at}`)
  clock.advance(91 * day)

  const counts = []
  for (let calls = 0; calls < 3; calls += 1) counts.push((await tidy(server, { limit: 2 }))?.count)

  expect(counts).toEqual([2, 2, 1])
  const answer = await server.root.write('identity/tidy', { unused_for: '90d', limit: -1 })
  expect(answer.body.errors).toEqual(["'limit' must not be negative"])
})

test.each<[string, (server: TestServer, id: string, aliasId: string) => Promise<unknown>]>([
  ['a policy', (server, id) => server.root.write(`identity/entity/id/${id}`, { policies: ['p'] })],
  ['metadata', (server, id) => server.root.write(`identity/entity/id/${id}`, { metadata: { team: 'x' } })],
  ['a name', (server, id) => server.root.write(`identity/entity/id/${id}`, { name: 'a name' })],
  ['that it is disabled', (server, id) => server.root.write(`identity/entity/id/${id}`, { disabled: true })],
  [
    'metadata of its alias',
    (server, _id, aliasId) =>
      server.root.write(`identity/entity-alias/id/${aliasId}`, { custom_metadata: { a: 'b' } }),
  ],
  [
    'the name of its alias',
    (server, _id, aliasId) => server.root.write(`identity/entity-alias/id/${aliasId}`, { name: 'RUN' }),
  ],
  [
    'that its alias is gone',
    (server, _id, aliasId) => server.root.delete(`identity/entity-alias/id/${aliasId}`),
  ],
  ['a group', (server, id) => server.root.write('identity/group', { name: 'g', member_entity_ids: [id] })],
])('an entity to which an operator gave %s is kept', async (_what, change) => {
  await using fixture = await aFixture()
  const { server, clock, ci } = fixture
  const { entityId } = await ci.login('run')
  const { body } = await server.root.read(`identity/entity/id/${entityId}`)
  const [alias] = Object.values(body.data?.aliases ?? {})
  await change(server, entityId, String(alias?.id))
  clock.advance(400 * day)

  expect(await tidy(server)).toMatchObject({ count: 0 })

  expect(await isThere(server, entityId)).toBe(true)
})

test('an entity that an operator created, or gave a second alias, is kept', async () => {
  await using fixture = await aFixture()
  const { server, clock, ci } = fixture
  const byHand = String((await server.root.write('identity/entity', {})).body.data?.id)
  const other = await aLoginMount(server, 'other')
  const { entityId } = await ci.login('run')
  await server.root.write('identity/entity-alias', {
    name: 'x',
    mount_accessor: other.accessor,
    canonical_id: entityId,
  })
  clock.advance(400 * day)

  expect(await tidy(server)).toMatchObject({ count: 0 })

  expect([await isThere(server, byHand), await isThere(server, entityId)]).toEqual([true, true])
})

test('an entity with a recent login or a valid token is kept', async () => {
  await using fixture = await aFixture()
  const { server, clock, ci } = fixture
  const gone = await ci.login('gone')
  const back = await ci.login('back')
  await server.root.write('auth/ci/role/r', {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: 'gate',
    token_policies: 'default',
    token_period: '30d',
  })
  const holder = await ci.login('holder')
  for (let month = 1; month <= 4; month += 1) {
    clock.advance(28 * day)
    expect((await holder.client.write('auth/token/renew-self')).status).toBe(200)
    if (month === 2) await ci.login('back')
  }

  expect(await tidy(server, { unused_for: '100d' })).toMatchObject({
    count: 1,
    sample: [{ id: gone.entityId }],
  })

  expect([await isThere(server, back.entityId), await isThere(server, holder.entityId)]).toEqual([true, true])
  expect((await holder.client.read('auth/token/lookup-self')).status).toBe(200)
})

test('a day counts to its end, and an entity is kept for as long as a batch token can be valid', async () => {
  await using fixture = await aFixture()
  const { server, clock, ci } = fixture
  await ci.login('run')

  clock.advance(32 * day)
  const early = await server.root.write('identity/tidy', { unused_for: '1h' })
  expect(early.body).toMatchObject({ data: { count: 0 }, warnings: [expect.stringContaining('768h')] })

  clock.advance(day)
  expect(await tidy(server, { unused_for: '1h' })).toMatchObject({ count: 1 })
})

test('it requires sudo and a duration', async () => {
  await using fixture = await aFixture()
  const { server } = fixture
  await server.root.write('sys/policies/acl/plain', {
    policy: 'path "identity/*" { capabilities = ["update"] }',
  })
  const { body } = await server.root.write('auth/token/create', { policies: ['plain'] })
  const plain = server.as(String(body.auth?.client_token))

  expect(verdict(await plain.write('identity/tidy', { unused_for: '90d' }))).toBe(
    '403 1 error occurred:\n\t* permission denied\n\n',
  )
  expect(verdict(await server.root.write('identity/tidy', {}))).toBe(
    "400 'unused_for' must be more than zero",
  )
  expect((await server.root.write('identity/tidy', { unused_for: '-1h' })).status).toBe(400)
  expect((await server.root.write('identity/tidy', { unused_for: '90d', dry_run: 'maybe' })).status).toBe(400)
  expect((await server.root.read('identity/tidy')).status).toBe(405)
})

test('entities that log in while it runs are kept', async () => {
  await using fixture = await aFixture()
  const { server, clock, ci } = fixture
  const runs = []
  for (let at = 0; at < 40; at += 1) runs.push(await ci.login(`run-${at}`))
  clock.advance(91 * day)

  const [done, ...logins] = await Promise.all([tidy(server), ...runs.map((_, at) => ci.login(`run-${at}`))])

  expect(Number(done?.count)).toBeLessThanOrEqual(40)
  for (const { answer, client } of logins) {
    expect(answer.status).toBe(200)
    expect((await client.read('auth/token/lookup-self')).status).toBe(200)
  }
})
