import { afterAll, beforeAll, expect, test } from 'vitest'
import { StorageFaults } from '../../src/storage/faults.ts'
import type { Answer } from '../support/client.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** Changes that arrive at once, and are decided on what others write. */
const count = 32
const numbers = Array.from({ length: count }, (_, at) => at)

let own: Awaited<ReturnType<typeof started>>
let server: TestServer

beforeAll(async () => {
  own = await started()
  server = own.server
})
afterAll(() => own[Symbol.asyncDispose]())

/** A server on a slow disk. */
async function started() {
  await using resources = new AsyncDisposableStack()
  const faults = new StorageFaults()
  const folder = resources.use(await temporaryFolder())
  const settings = {
    STORAGE: `sqlite:${folder.file('gatehouse.db')}`,
    SEAL_KEY_FILE: folder.file('seal.key'),
  }
  const server = resources.use(await startTestServer({ settings, faults }))
  faults.delay('storage.before-commit', 10)
  const opened = resources.move()
  return { server, faults, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** Sends requests at once. Returns the texts of refusals. */
async function refusals(requests: (at: number) => Promise<Answer>): Promise<string[]> {
  const answers = await Promise.all(numbers.map(requests))
  return answers.filter(({ status }) => status >= 300).map(({ text }) => text)
}

test('changes of mounts', async () => {
  const { root } = server
  const path = (at: number) => `sys/${at % 2 === 0 ? 'mounts' : 'auth'}/m${at}`
  const type = (at: number) => (at % 2 === 0 ? 'kv' : 'userpass')

  expect(await refusals((at) => root.write(path(at), { type: type(at) }))).toEqual([])
  expect(await refusals((at) => root.write(`${path(at)}/tune`, { description: `number ${at}` }))).toEqual([])
  const tuned = (await root.read('sys/mounts')).body.data
  expect(tuned?.['m6/']).toMatchObject({ description: 'number 6' })
  expect(await refusals((at) => root.delete(path(at)))).toEqual([])
  expect((await root.read('sys/mounts')).body.data).not.toHaveProperty('m6/')
})

test('of two mounts at one path, or of two namespaces, one is made', async () => {
  const { root } = server
  const mounts = await Promise.all(numbers.map((at) => root.write(`sys/mounts/p${at % 4}`, { type: 'kv' })))
  const namespaces = await Promise.all(numbers.map((at) => root.write(`sys/namespaces/n${at % 4}`)))
  const both = await Promise.all([
    root.write('sys/mounts/both', { type: 'kv' }),
    root.write('sys/namespaces/both'),
    root.write('sys/mounts/both/below', { type: 'kv' }),
  ])

  expect(mounts.filter(({ status }) => status === 204)).toHaveLength(4)
  expect(new Set(mounts.map(({ status }) => status))).toEqual(new Set([204, 400]))
  expect(new Set(namespaces.map(({ status }) => status))).toEqual(new Set([200]))
  expect(new Set(namespaces.map(({ body }) => body.data?.id)).size).toBe(4)
  expect(both.filter(({ status }) => status < 300)).toHaveLength(1)
})

test('new namespaces', async () => {
  expect(await refusals((at) => server.root.write(`sys/namespaces/new-${at}`))).toEqual([])
})

test('what a failed commit was to make does not exist, and the changes after it are made', async () => {
  await using failing = await started()
  const { root } = failing.server
  await root.write('sys/mounts/before', { type: 'kv' })
  failing.faults.arm('storage.before-commit', 'io')

  const answers = await Promise.all(numbers.map((at) => root.write(`sys/mounts/f${at % 8}`, { type: 'kv' })))

  const statuses = answers.map(({ status }) => status).sort()
  expect(statuses).toEqual([...Array(8).fill(204), ...Array(count - 9).fill(400), 503])
})

test('roles and keys of identity tokens', async () => {
  const { root } = server
  const role = (at: number) => `identity/oidc/role/r${at}`
  const key = (at: number) => `identity/oidc/key/k${at}`

  expect(await refusals((at) => root.write(key(at), { algorithm: 'ES256' }))).toEqual([])
  expect(await refusals((at) => root.write(role(at), { key: `k${at % 2}` }))).toEqual([])
  // each finds the roles that were written before it
  const [used, unused] = await Promise.all([root.delete(key(1)), root.delete(key(2))])
  expect([used.status, unused.status]).toEqual([400, 204])
  expect(await refusals((at) => root.delete(role(at)))).toEqual([])
  expect((await root.delete(key(1))).status).toBe(204)
})

test('deletions of groups, of which some are members of others', async () => {
  const { root } = server
  const name = (at: number) => `identity/group/name/g${at}`
  await Promise.all(numbers.map((at) => root.write(name(at))))
  const ids = await Promise.all(numbers.map(async (at) => String((await root.read(name(at))).body.data?.id)))
  for (const at of [0, 4, 8])
    await root.write(name(at), { member_group_ids: [ids[at + 1], ids[at + 2], ids[31]] })

  expect(await refusals((at) => (at === 31 ? root.read(name(at)) : root.delete(name(at))))).toEqual([])
  expect((await root.list('identity/group/name')).body.data?.keys).toEqual(['g31'])
  expect((await root.read(name(31))).body.data?.parent_group_ids ?? []).toEqual([])
})

test.each([
  ['a role of approle', 'auth/approle/role/one', (at: number) => ({ token_ttl: 60 + at })],
  ['a user', 'auth/userpass/users/one/policies', (at: number) => ({ token_policies: `p${at}` })],
  ['the configuration of kv', 'kv/config', (at: number) => ({ max_versions: 1 + at })],
])('changes of one record: %s', async (_, path, body) => {
  const { root } = server
  await root.write('sys/auth/approle', { type: 'approle' })
  await root.write('sys/auth/userpass', { type: 'userpass' })
  await root.write('sys/mounts/kv', { type: 'kv-v2' })
  await root.write('auth/approle/role/one', { token_policies: ['kept'] })
  await root.write('auth/userpass/users/one', { password: 'correct horse battery', token_ttl: 77 })

  expect(await refusals((at) => root.write(path, body(at)))).toEqual([])
  expect((await root.read('auth/approle/role/one')).body.data?.token_policies).toEqual(['kept'])
  expect((await root.read('auth/userpass/users/one')).body.data?.token_ttl).toBe(77)
})
