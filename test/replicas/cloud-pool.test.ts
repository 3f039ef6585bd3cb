import { afterAll, beforeAll, expect, test } from 'vitest'
import { aRole, until } from '../plugins/cloud/credential-steps.ts'
import { aPool, applications, filled, poolsAt } from '../plugins/cloud/pool/pool-steps.ts'
import { type CloudServers, startCloudServers } from './cloud-servers.ts'

let servers: CloudServers
beforeAll(async () => {
  servers = await startCloudServers()
})
afterAll(() => servers[Symbol.asyncDispose]())

const atBoth = () => [servers.fixture.root, servers.other.root] as const

test('of requests at both servers at once, no two get the same credential', async () => {
  const { fixture } = servers
  await aPool(fixture, 'many', 8)
  await filled(servers.other.root, 'many', 8)
  const ahead = new Set(applications(fixture, 'many'))

  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, at) => atBoth()[at % 2 === 0 ? 0 : 1].read('cloud/creds/many')),
  )

  const ids = answers.map(({ body }) => String(body.data?.['client_id']))
  expect(answers.map(({ status }) => status)).toEqual(ids.map(() => 200))
  expect(new Set(ids).size).toBe(12)
  expect(ids.filter((id) => ahead.has(id)).length).toBeGreaterThanOrEqual(8)
  await fixture.root.delete('cloud/roles/many')
})

test('one of the servers fills a pool, both show it, and either hands it out', async () => {
  const { fixture, other } = servers
  await aPool(fixture, 'shared', 2)
  await until(async () => (await other.root.read('cloud/roles/shared')).status === 200)
  await filled(other.root, 'shared', 2)
  expect(applications(fixture, 'shared')).toHaveLength(2)
  const ahead = applications(fixture, 'shared')

  const answer = await other.root.read('cloud/creds/shared')

  expect(ahead).toContain(answer.body.data?.['client_id'])
  expect(answer.body.warnings).toBeNull()
  await fixture.root.delete('cloud/roles/shared')
})

test('after a change of the role at one server, the other hands out nothing of before', async () => {
  const { fixture, other } = servers
  await aPool(fixture, 'changed', 3)
  await filled(other.root, 'changed', 3)
  const before = applications(fixture, 'changed')

  await aRole(fixture, 'changed', { max_ttl: 7200 })
  const answer = await other.root.read('cloud/creds/changed')

  expect(answer.status).toBe(200)
  expect(before).not.toContain(answer.body.data?.['client_id'])
  await fixture.root.delete('cloud/roles/changed')
  await until(async () => (await poolsAt(other.root)).idle === 0)
})
