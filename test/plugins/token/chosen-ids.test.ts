import { expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'

const maker = { policy: 'path "auth/token/create" { capabilities = ["update"] }' }

async function make(server: TestServer, input: object) {
  const { status, body } = await server.root.write('auth/token/create', {
    policies: ['default', 'maker'],
    ...input,
  })
  return { status, body, client: server.as(String(body.auth?.client_token)) }
}

const isGood = async (server: TestServer, token: unknown) =>
  (await server.as(String(token)).read('auth/token/lookup-self')).status === 200

test.each([
  { kind: 'batch token', input: { type: 'batch' } },
  { kind: 'service token', input: {} },
])(
  'a $kind created with a former token stays refused when another token takes the same id',
  async ({ input }) => {
    await using server = await startTestServer()
    await server.root.write('sys/policies/acl/maker', maker)
    const first = await make(server, { id: 'foobar' })
    const child = (await first.client.write('auth/token/create', input)).body.auth?.client_token
    expect(await isGood(server, child)).toBe(true)

    await server.root.write('auth/token/revoke', { token: 'foobar' })
    const second = await make(server, { id: 'foobar' })

    expect(await isGood(server, 'foobar')).toBe(true)
    expect(await isGood(server, child)).toBe(false)
    const own = (await second.client.write('auth/token/create', input)).body.auth?.client_token
    expect(await isGood(server, own)).toBe(true)
  },
)

test('an id is free again once its token has expired, and one of many concurrent callers gets it', async () => {
  const clock = new FakeClock()
  await using server = await startTestServer({ clock })
  await server.root.write('sys/policies/acl/maker', maker)
  await make(server, { id: 'foobar', ttl: 10 })
  await server.as('foobar').write('cubbyhole/a', { secret: 1 })
  expect((await make(server, { id: 'foobar' })).body.errors).toEqual([
    'cannot create a token with a duplicate ID',
  ])
  clock.advance(10)

  const answers = await Promise.all(Array.from({ length: 10 }, () => make(server, { id: 'foobar' })))

  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  for (const { status, body } of answers) {
    if (status !== 200)
      expect([status, body.errors]).toEqual([400, ['cannot create a token with a duplicate ID']])
  }
  expect(await isGood(server, 'foobar')).toBe(true)
  expect((await server.as('foobar').read('cubbyhole/a')).status).toBe(404)
})

test('a free id may be given to a token for an entity alias', async () => {
  const clock = new FakeClock()
  await using server = await startTestServer({ clock })
  await server.root.write('auth/token/roles/r', { allowed_entity_aliases: 'alice', orphan: true })
  const forAlice = () =>
    server.root.write('auth/token/create/r', {
      id: 'foobar',
      policies: ['default'],
      entity_alias: 'alice',
      ttl: 10,
    })
  const first = await forAlice()
  expect((await forAlice()).body.errors).toEqual(['cannot create a token with a duplicate ID'])
  clock.advance(10)

  const second = await forAlice()

  expect(second.status).toBe(200)
  expect(second.body.auth?.entity_id).toBe(first.body.auth?.entity_id)
})
