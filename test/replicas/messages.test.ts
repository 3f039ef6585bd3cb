import { afterAll, beforeAll, expect, test } from 'vitest'
import { messagesPath, plain } from '../plugins/custom-messages/message-fixture.ts'
import type { TestServer } from '../support/start-server.ts'
import { startTwoServers, type TwoServers } from '../support/two-servers.ts'

let servers: TwoServers
beforeAll(async () => {
  servers = await startTwoServers()
})
afterAll(() => servers[Symbol.asyncDispose]())

const shown = 'sys/internal/ui/unauthenticated-messages'
const open = { ...plain, authenticated: false }

/** Both servers with a new namespace. */
async function inNamespace(name: string) {
  await servers.one.root.write(`sys/namespaces/${name}`, {})
  const headers = { 'X-Vault-Namespace': name }
  await expect.poll(async () => (await servers.other.anonymous.read(shown, { headers })).status).toBe(200)
  const clientOf = ({ root, anonymous }: TestServer) => ({
    create: (fields: object = {}) => root.write(messagesPath, { ...open, ...fields }, { headers }),
    list: async () => (await root.list(messagesPath, { headers })).body.data?.['keys'] ?? [],
    read: (id: string) => root.read(`${messagesPath}/${id}`, { headers }),
    patch: (id: string, fields: object) =>
      root.call('PATCH', `${messagesPath}/${id}`, fields, {
        headers: { ...headers, 'content-type': 'application/merge-patch+json' },
      }),
    remove: (id: string) => root.delete(`${messagesPath}/${id}`, { headers }),
    poll: (given: Record<string, string> = {}, query = '') =>
      anonymous.read(`${shown}${query}`, { headers: { ...headers, ...given } }),
  })
  return { one: clientOf(servers.one), other: clientOf(servers.other) }
}

test('of 120 messages that two servers create at the same time, exactly 100 are stored', async () => {
  const { one, other } = await inNamespace('full')

  const answers = await Promise.all(
    Array.from({ length: 120 }, (_, index) => (index % 2 === 0 ? one : other).create()),
  )

  expect(answers.filter((answer) => answer.status === 200)).toHaveLength(100)
  const refusals = new Set(answers.flatMap((answer) => answer.body.errors ?? []))
  expect([...refusals]).toEqual(['failed to create custom message: maximum number of messages already exist'])
  await expect.poll(async () => [(await one.list()).length, (await other.list()).length]).toEqual([100, 100])
})

test('a message of another server ends a long poll, with the tag that the other server shows', async () => {
  const { one, other } = await inNamespace('poll')
  const before = await other.poll()
  const held = other.poll({ 'If-None-Match': String(before.headers['etag']) }, '?wait=50s')

  await one.create({ title: 'over there' })
  const [here, there] = [await one.poll(), await held]

  expect(there.status).toBe(200)
  expect(there.headers['etag']).toBe(here.headers['etag'])
  expect(there.text).toContain('over there')
})

test('of two servers that change one message at the same time, neither loses its change', async () => {
  const { one, other } = await inNamespace('change')
  const id = String((await one.create()).body.data?.['id'])

  const answers = await Promise.all([
    one.patch(id, { title: 'new' }),
    other.patch(id, { severity: 'critical' }),
    one.patch(id, { priority: 3 }),
    other.patch(id, { type: 'modal' }),
  ])

  expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 200])
  const changed = { title: 'new', severity: 'critical', priority: 3, type: 'modal' }
  for (const server of [one, other])
    await expect.poll(async () => (await server.read(id)).body.data).toMatchObject(changed)
})

test('a message can be changed and deleted at another server as soon as it is created', async () => {
  const { one, other } = await inNamespace('at-once')
  const [first, second] = [await one.create(), await one.create()].map((made) =>
    String(made.body.data?.['id']),
  )

  expect((await other.patch(first ?? '', { title: 'new' })).status).toBe(200)
  expect((await other.remove(second ?? '')).status).toBe(204)
  expect((await other.patch(second ?? '', { title: 'new' })).status).toBe(404)
  expect(await other.list()).toEqual([first])
  await expect.poll(async () => one.list()).toEqual([first])
})

test('the removal of a namespace ends the long polls in it at the other server', async () => {
  const { other } = await inNamespace('gone')
  const before = await other.poll()
  const held = other.poll({ 'If-None-Match': String(before.headers['etag']) }, '?wait=50s')

  await servers.one.root.delete('sys/namespaces/gone')

  expect((await held).status).toBe(404)
})

test('a schedule that one server stores is the same at the other', async () => {
  const { one, other } = await inNamespace('schedule')
  const schedule = { cron: '* * * * *', duration: 3600, time_zone: 'Europe/Berlin' }

  const { body } = await one.create({ effect: 'no_new_credentials', schedule })
  const id = String(body.data?.['id'])

  await expect
    .poll(async () => (await other.read(id)).body.data)
    .toMatchObject({ effect: 'no_new_credentials', schedule, active: true })
})

test('a window that one server stores refuses writes at the other, and ends there', async () => {
  const { one } = await inNamespace('window')
  const headers = { 'X-Vault-Namespace': 'window' }
  const write = () => servers.other.root.write('cubbyhole/a', { b: 'c' }, { headers })
  expect((await write()).status).toBe(204)

  const { body } = await one.create({ title: 'New disks', effect: 'read_only' })
  await expect.poll(async () => (await write()).body.errors).toEqual(['maintenance: New disks'])
  expect((await servers.one.root.write('cubbyhole/a', {}, { headers })).status).toBe(503)

  await one.remove(String(body.data?.['id']))
  await expect.poll(async () => (await write()).status).toBe(204)
})
