import { afterAll, beforeAll, expect, test } from 'vitest'
import { startReplicas } from '../support/replicas.ts'
import type { TestServer } from '../support/start-server.ts'

/** The second server hears of changes seldom, and its copies are as old as a test wants. */
let age = 0
const opened = new AsyncDisposableStack()
let one: TestServer
let other: TestServer

beforeAll(async () => {
  const steady = () => performance.now() + age
  const settings = { POSTGRES_NOTIFY: 'false', POSTGRES_POLL: '900ms' }
  const { servers } = opened.use(
    await startReplicas({ settings, of: (replica) => (replica === 1 ? { steady } : {}) }),
  )
  const [first, second] = servers
  if (first === undefined || second === undefined) throw new Error('there are not two servers')
  ;[one, other] = [first, second]
})
afterAll(() => opened.disposeAsync())

/** Makes the copies of the second server more than a second old. */
const makeOld = () => {
  age += 1_001
}
const lookup = async (server: TestServer, token: string) =>
  (await server.as(token).read('auth/token/lookup-self')).status
async function newToken(fields: object = {}, token = 'root'): Promise<string> {
  const { body } = await one.as(token).write('auth/token/create', fields)
  return String(body.auth?.client_token)
}

test('a server does not use a copy that is more than a second old: a token and its child are revoked everywhere', async () => {
  const parent = await newToken({ policies: ['default', 'root'] })
  const child = await newToken({ policies: ['default'] }, parent)
  expect([await lookup(other, parent), await lookup(other, child)]).toEqual([200, 200])

  await one.root.write('auth/token/revoke', { token: parent })
  makeOld()

  expect([await lookup(other, parent), await lookup(other, child)]).toEqual([403, 403])
})

test('what an entity and its groups may do changes everywhere', async () => {
  await one.root.write('sys/policies/acl/reader', {
    policy: 'path "sys/policies/acl" { capabilities = ["list"] }',
  })
  await one.root.write('auth/token/roles/ci', { allowed_entity_aliases: ['job'], orphan: true })
  const { body } = await one.root.write('auth/token/create/ci', {
    entity_alias: 'job',
    policies: ['default'],
  })
  const token = String(body.auth?.client_token)
  const entity = String((await one.as(token).read('auth/token/lookup-self')).body.data?.entity_id)
  const may = async () => (await other.as(token).list('sys/policies/acl')).status
  makeOld()
  const before = await may()

  await one.root.write('identity/group', { name: 'g', policies: ['reader'], member_entity_ids: [entity] })
  makeOld()
  const joined = await may()
  await one.root.write('identity/group/name/g', { policies: [] })
  makeOld()
  const withoutPolicy = await may()
  await one.root.write(`identity/entity/id/${entity}`, { policies: ['reader'] })
  makeOld()
  const ownPolicy = await may()
  await one.root.write(`identity/entity/id/${entity}`, { disabled: true })
  makeOld()

  expect([before, joined, withoutPolicy, ownPolicy]).toEqual([403, 200, 403, 200])
  expect(await lookup(other, token)).toBe(403)
})

test('a token is used, and a response unwrapped, exactly as often as allowed', async () => {
  const servers = [one, other]
  const counted = await newToken({ num_uses: 7, policies: ['default'] })
  const uses = await Promise.all(
    Array.from({ length: 20 }, (_, at) => lookup(servers[at % 2] ?? one, counted)),
  )
  const wrapped = await one.root.read('auth/token/lookup-self', { headers: { 'X-Vault-Wrap-TTL': '60' } })
  const wrapping = String(wrapped.body.wrap_info?.token)

  const unwrapped = await Promise.all(
    Array.from({ length: 10 }, (_, at) => servers[at % 2]?.as(wrapping).write('sys/wrapping/unwrap')),
  )

  expect(uses.filter((status) => status === 200)).toHaveLength(7)
  expect(unwrapped.filter((answer) => answer?.status === 200)).toHaveLength(1)
})
