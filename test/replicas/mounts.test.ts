import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { query } from '../support/postgres.ts'
import type { TestServer } from '../support/start-server.ts'
import { startTwoServers, type TwoServers } from '../support/two-servers.ts'

const numbers = Array.from({ length: 10 }, (_, number) => number)

/** How often each status was returned by ten calls, of which each server gets half. */
async function statusesOf(
  { one, other }: { one: TestServer; other: TestServer },
  call: (server: TestServer, number: number) => Promise<{ status: number }>,
): Promise<Record<string, number>> {
  const answers = await Promise.all(numbers.map((number) => call(number % 2 ? one : other, number)))
  return Object.fromEntries(
    Map.groupBy(answers, ({ status }) => String(status))
      .entries()
      .map(([status, same]) => [status, same.length]),
  )
}

let servers: TwoServers
beforeAll(async () => {
  servers = await startTwoServers()
})
afterAll(() => servers[Symbol.asyncDispose]())

test('mounts and namespaces are exact under concurrent calls to two servers', {
  timeout: 60_000,
}, async () => {
  const { one, other, database } = servers

  const atOnePath = await statusesOf(servers, ({ root }) => root.write('sys/mounts/a', { type: 'cloud' }))
  expect(atOnePath).toEqual({ 204: 1, 400: 9 })
  const atTen = await statusesOf(servers, ({ root }, number) =>
    root.write(`sys/mounts/m${number}`, { type: 'cloud' }),
  )
  expect(atTen).toEqual({ 204: 10 })
  const fields = ['default_lease_ttl', 'max_lease_ttl'] as const
  await Promise.all(
    fields.map((field, number) => (number ? one : other).root.write('sys/mounts/a/tune', { [field]: '1h' })),
  )
  await expect
    .poll(async () => (await one.root.read('sys/mounts/a/tune')).body.data)
    .toMatchObject({ default_lease_ttl: 3600, max_lease_ttl: 3600 })
  const oneName = await statusesOf(servers, ({ root }, number) =>
    number < 5 ? root.write('sys/namespaces/n', {}) : root.write('sys/mounts/n', { type: 'cloud' }),
  )
  expect(oneName).toMatchObject({ 400: expect.any(Number) })
  expect(await query(database, "SELECT key FROM records WHERE key LIKE 'core/namespace/%'")).toHaveLength(
    oneName['200'] === undefined ? 0 : 1,
  )
  const removed = await statusesOf(servers, ({ root }, number) => root.delete(`sys/mounts/m${number % 2}`))
  expect(removed).toEqual({ 204: 10 })
  await expect
    .poll(async () => [
      Object.hasOwn(Object((await one.root.read('sys/mounts')).body.data), 'm0/'),
      Object.hasOwn(Object((await other.root.read('sys/mounts')).body.data), 'm1/'),
    ])
    .toEqual([false, false])
})

test('a mount that one server moves is known to the other at its new path only, and so is the move', async () => {
  const { one, other } = servers
  await one.root.write('sys/auth/jwt', { type: 'jwt' })
  await one.root.write('auth/jwt/role/r', { role_type: 'jwt', user_claim: 'sub', bound_audiences: ['a'] })

  const moved = await one.root.write('sys/remount', { from: 'auth/jwt', to: 'auth/new' })
  const status = `sys/remount/status/${String(moved.body.data?.['migration_id'])}`
  await expect
    .poll(async () => (await other.root.read(status)).body.data?.['migration_info'])
    .toMatchObject({ status: 'success' })

  await expect.poll(async () => (await other.root.read('auth/new/role/r')).status).toBe(200)
  expect((await other.root.read('auth/jwt/role/r')).status).toBe(404)
})

test('a deleted namespace is gone on both servers', async () => {
  const { one, other } = servers
  await one.root.write('sys/namespaces/gone', {})
  await expect.poll(async () => (await other.root.read('sys/namespaces/gone')).status).toBe(200)
  await other.root.write('gone/sys/policies/acl/p', { policy: 'path "a" { capabilities = ["read"] }' })

  expect((await other.root.delete('sys/namespaces/gone')).status).toBe(200)

  for (const { root } of [one, other])
    await expect.poll(async () => (await root.read('sys/namespaces/gone')).status).toBe(404)
  expect(await query(servers.database, "SELECT key FROM records WHERE key LIKE '%busy%'")).toEqual([])
})

test('sys/ha-status lists both servers, with the addresses that they serve', async () => {
  const { one, other } = servers
  const nodes = async (server: TestServer) =>
    Object.values((await server.root.read('sys/ha-status')).body['data']?.['nodes'] ?? {})
  await vi.waitUntil(async () => (await nodes(one)).every((node) => String(node['api_address']) !== ''))

  const found = await nodes(one)

  expect(found.map((node) => [String(node['hostname']), String(node['api_address'])]).toSorted()).toEqual([
    ['replica-0', one.url],
    ['replica-1', other.url],
  ])
  expect(found.map((node) => [String(node['hostname']), node['last_echo'] === null]).toSorted()).toEqual([
    ['replica-0', true],
    ['replica-1', false],
  ])
})
