import { afterAll, beforeAll, expect, test } from 'vitest'
import { holder, newMount, put } from '../plugins/kv/kv-fixture.ts'
import { query } from '../support/postgres.ts'
import { startProcess } from '../support/process.ts'
import { sealKey } from '../support/replicas.ts'
import type { TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { startTwoServers, type TwoServers } from '../support/two-servers.ts'

const opened = new AsyncDisposableStack()
let servers: TwoServers
let both: readonly TestServer[]
beforeAll(async () => {
  // hashes of passwords that take no time
  servers = opened.use(await startTwoServers())
  both = [servers.one, servers.other]
})
afterAll(() => opened.disposeAsync())

/** A mount that both servers know. */
async function sharedMount(version: 1 | 2): Promise<string> {
  const mount = await newMount(servers.one, version)
  await expect.poll(async () => (await servers.other.root.read(`sys/mounts/${mount}`)).status).toBe(200)
  return mount
}

/** Calls both servers at once, `count` times in all. */
const atOnce = <T>(count: number, call: (server: TestServer, number: number) => Promise<T>) =>
  Promise.all(
    Array.from({ length: count }, (_, number) =>
      call(number % 2 === 0 ? servers.one : servers.other, number),
    ),
  )

test('two servers give no version number twice, and lose no write and no merge', async () => {
  const mount = await sharedMount(2)
  await servers.one.root.write(`${mount}/config`, { max_versions: 100 })
  await put(servers.one.root, `${mount}/data/a`, {})

  const answers = await atOnce(40, ({ root }, number) =>
    root.call(
      'PATCH',
      `${mount}/data/a`,
      { data: { [`n${number}`]: number } },
      { headers: { 'Content-Type': 'application/merge-patch+json' } },
    ),
  )

  const numbers = answers.map(({ body }) => Number(body.data?.['version']))
  expect(numbers.toSorted((one, other) => one - other)).toEqual(Array.from({ length: 40 }, (_, at) => at + 2))
  for (const { root } of both)
    await expect
      .poll(async () => Object.keys(Object((await root.read(`${mount}/data/a`)).body.data?.['data'])))
      .toHaveLength(40)
})

test('of many writers with one cas at two servers, one wins', async () => {
  const mount = await sharedMount(2)

  const answers = await atOnce(20, ({ root }, number) =>
    root.write(`${mount}/data/a`, { data: { number }, options: { cas: 0 } }),
  )

  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(19).fill(400)])
  const won = answers.findIndex(({ status }) => status === 200)
  for (const { root } of both)
    await expect
      .poll(async () => (await root.read(`${mount}/data/a`)).body.data?.['data'])
      .toEqual({ number: won })
})

test('who may only create never overwrites what another server has written', async () => {
  const mount = await sharedMount(2)
  const creator = await holder(servers.one, { [`${mount}/data/*`]: 'create' })

  const answers = await Promise.all(
    Array.from({ length: 8 }, async (_, number) => {
      const path = `${mount}/data/k${number}`
      const [created, written] = await Promise.all([
        creator.write(path, { data: { by: 'creator' } }),
        servers.other.root.write(path, { data: { by: 'root' } }),
      ])
      const { body } = await servers.one.root.read(`${mount}/metadata/k${number}`)
      return { created, written, current: Number(body.data?.['current_version']) }
    }),
  )

  for (const { created, written, current } of answers) {
    expect(written.status).toBe(200)
    // it came first, or it was refused
    expect(Number(written.body.data?.['version'])).toBe(created.status === 200 ? 2 : 1)
    expect([200, 403]).toContain(created.status)
    expect(current).toBe(created.status === 200 ? 2 : 1)
  }
})

test('a held read ends when another server writes, deletes or removes the secret, or the mount', async () => {
  const mount = await sharedMount(2)
  await put(servers.one.root, `${mount}/data/a`, { x: 1 })
  const changes = [
    { change: () => put(servers.one.root, `${mount}/data/a`, { x: 2 }), status: 200 },
    { change: () => servers.one.root.delete(`${mount}/data/a`), status: 404 },
    { change: () => servers.one.root.write(`${mount}/undelete/a`, { versions: [2] }), status: undefined },
    { change: () => servers.one.root.write(`${mount}/move/b`, { from: 'a' }), status: 404 },
    { change: () => servers.one.root.write(`${mount}/move/a`, { from: 'b' }), status: undefined },
    { change: () => servers.one.root.delete(`sys/mounts/${mount}`), status: 404 },
  ]

  for (const { change, status } of changes) {
    if (status === undefined) {
      await change()
      continue
    }
    let tag: unknown
    await expect
      .poll(async () => (tag = (await servers.other.root.read(`${mount}/data/a`)).headers['etag']))
      .toBe((await servers.one.root.read(`${mount}/data/a`)).headers['etag'])
    const held = servers.other.root.read(`${mount}/data/a?wait=60s`, {
      headers: { 'If-None-Match': String(tag) },
    })
    await change()
    expect((await held).status).toBe(status)
  }
})

test('a role id and a user that one server locks are locked and unlocked on the other', async () => {
  const { one, other } = servers
  await one.root.write('sys/auth/people', { type: 'userpass' })
  await one.root.write('auth/people/users/bob', { password: 'pw' })
  await one.root.write('sys/auth/machines', { type: 'approle' })
  await one.root.write('auth/machines/role/r', { role_id: 'r-id' })
  const secretId = String((await one.root.write('auth/machines/role/r/secret-id')).body.data?.['secret_id'])
  const logins = {
    people: (server: TestServer, password: string) =>
      server.anonymous.write('auth/people/login/bob', { password }),
    machines: (server: TestServer, secret_id: string) =>
      server.anonymous.write('auth/machines/login', { role_id: 'r-id', secret_id }),
  }
  const right = { people: 'pw', machines: secretId }
  for (const [mount, name] of [
    ['people', 'bob'],
    ['machines', 'r-id'],
  ] as const) {
    const status = async (server: TestServer, secret: string) => (await logins[mount](server, secret)).status
    const accessor = String((await one.root.read(`sys/auth/${mount}`)).body.data?.['accessor'])
    await expect.poll(() => status(other, right[mount])).toBe(200)

    for (let count = 0; count < 5; count += 1) expect(await status(one, 'wrong')).toBe(400)

    await expect
      .poll(async () => (await other.root.read(`sys/locked-users?mount_accessor=${accessor}`)).body.data)
      .toMatchObject({ total: 1 })
    expect(await status(other, right[mount])).toBe(403)
    await other.root.write(`sys/locked-users/${accessor}/unlock/${name}`)
    await expect.poll(() => status(one, right[mount])).toBe(200)
  }
})

test('a user gets no more guesses from two servers than from one', async () => {
  await servers.one.root.write('sys/auth/both', { type: 'userpass' })
  await servers.one.root.write('auth/both/users/bob', { password: 'pw' })
  await expect.poll(async () => (await servers.other.root.read('auth/both/users/bob')).status).toBe(200)
  const guess = ({ anonymous }: TestServer, password: string) =>
    anonymous.write('auth/both/login/bob', { password })

  const guesses = []
  for (let at = 0; at < 5; at += 1)
    guesses.push((await guess(at % 2 === 0 ? servers.one : servers.other, 'guess')).status)

  expect(guesses).toEqual([400, 400, 400, 400, 400])
  // the one that sent the last guess knows at once
  expect((await guess(servers.one, 'pw')).status).toBe(403)
  await expect.poll(async () => (await guess(servers.other, 'no guess')).status).toBe(403)
})

test('an entry of version 1 that one server writes or deletes comes and goes in the lists of the other', async () => {
  const mount = await sharedMount(1)
  const listed = async ({ root }: TestServer) => (await root.list(`${mount}/f`)).body.data?.['keys']
  await servers.one.root.write(`${mount}/f/a`, { a: 1 })
  await expect.poll(() => listed(servers.other)).toEqual(['a'])

  await servers.one.root.write(`${mount}/f/b`, { a: 1 })
  await expect.poll(() => listed(servers.other)).toEqual(['a', 'b'])

  await servers.one.root.delete(`${mount}/f/a`)
  await expect.poll(() => listed(servers.other)).toEqual(['b'])
})

test('an upgrade while both servers are written to loses nothing', async () => {
  const mount = await sharedMount(1)
  await atOnce(120, ({ root }, number) => root.write(`${mount}/k${number}`, { number }))

  const writes = atOnce(60, async ({ root }, number) => {
    const { status } = await root.write(`${mount}/late${number}`, { number })
    return status === 204 ? [number] : []
  })
  const tuned = await servers.one.root.write(`sys/mounts/${mount}/tune`, { options: { version: '2' } })
  const late = (await writes).flat()

  expect(tuned.status).toBe(200)
  for (const { root } of both) {
    const names = [...Array.from({ length: 120 }, (_, at) => `k${at}`), ...late.map((at) => `late${at}`)]
    await expect
      .poll(async () => (await root.list(`${mount}/metadata`)).body.data?.['keys'])
      .toEqual(names.toSorted())
  }
  for (const number of late) {
    const { body } = await servers.other.root.read(`${mount}/data/late${number}`)
    expect(body.data).toMatchObject({ data: { number }, metadata: { version: 1 } })
  }
})

test('an upgrade whose server is killed is completed by another one, and no entry is lost or doubled', async () => {
  await using folder = await temporaryFolder()
  const settings = {
    STORAGE: servers.database,
    SEAL_KEY: sealKey,
    POSTGRES_POOL: '3',
    REPLICA_NAME: 'killed',
  }
  const mount = await sharedMount(1)
  await using killed = await startProcess({ folder: folder.path, settings, args: ['dev'] })
  const { root } = servers.other
  await atOnce(300, (server, number) => server.root.write(`${mount}/k${number}`, { number }))

  const tuned = killed
    .as('root')
    .write(`sys/mounts/${mount}/tune`, { options: { version: '2' } })
    .catch(() => 'cut')
  const entries = async () =>
    (await query(servers.database, "SELECT key FROM records WHERE key ~ '^mount/[^/]+/1/k[0-9]'")).length
  // the other server knows of the upgrade before it begins, and helps once it is asked
  await expect.poll(async () => (await root.read(`${mount}/data/k0`)).status, { interval: 1 }).not.toBe(404)
  await expect.poll(entries, { interval: 1 }).toBeLessThan(300)
  await killed.stop('SIGKILL')
  await tuned

  await expect.poll(async () => (await root.list(`${mount}/metadata`)).status).toBe(200)
  expect((await root.list(`${mount}/metadata`)).body.data?.['keys']).toHaveLength(300)
  const versions = await atOnce(300, async (server, number) => {
    const { body } = await server.root.read(`${mount}/data/k${number}`)
    return [Number(body.data?.['data']?.['number']), Number(body.data?.['metadata']?.['version'])]
  })
  expect(versions).toEqual(Array.from({ length: 300 }, (_, number) => [number, 1]))
  expect(await entries()).toBe(0)
})
