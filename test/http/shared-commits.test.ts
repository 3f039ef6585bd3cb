import { afterAll, beforeAll, expect, test } from 'vitest'
import { StorageFaults } from '../../src/storage/faults.ts'
import type { Answer } from '../support/client.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** Writes that arrive during a commit share the next one, also those that are decided on what others write. */
const count = 32
const numbers = Array.from({ length: count }, (_, at) => at)

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let server: TestServer
const faults = new StorageFaults()

beforeAll(async () => {
  folder = await temporaryFolder()
  const settings = {
    STORAGE: `sqlite:${folder.file('gatehouse.db')}`,
    SEAL_KEY_FILE: folder.file('seal.key'),
  }
  server = await startTestServer({ settings, faults })
  faults.delay('storage.before-commit', 10)
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

async function commits(): Promise<number> {
  const { text } = await server.root.read('/metrics')
  return Number(/^gatehouse_storage_commit_duration_seconds_count (\d+)$/m.exec(text)?.[1])
}

/** Sends requests at once. Returns those that were refused, and the number of commits. */
async function together(
  requests: (at: number) => Promise<Answer>,
): Promise<{ refused: string[]; commits: number }> {
  const before = await commits()
  const answers = await Promise.all(numbers.map(requests))
  return {
    refused: answers.filter(({ status }) => status >= 300).map(({ text }) => text),
    commits: (await commits()) - before,
  }
}

const shared = (most: number) => ({ refused: [], commits: expect.toSatisfy((made: number) => made <= most) })

test('changes of mounts', async () => {
  const { root } = server
  const path = (at: number) => `sys/${at % 2 === 0 ? 'mounts' : 'auth'}/m${at}`
  const type = (at: number) => (at % 2 === 0 ? 'kv' : 'userpass')

  expect(await together((at) => root.write(path(at), { type: type(at) }))).toEqual(shared(20))
  expect(await together((at) => root.write(`${path(at)}/tune`, { description: `number ${at}` }))).toEqual(
    shared(20),
  )
  const tuned = (await root.read('sys/mounts')).body.data
  expect(tuned?.['m6/']).toMatchObject({ description: 'number 6' })
  // a removal writes several times
  expect(await together((at) => root.delete(path(at)))).toEqual(shared(48))
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
  expect(await together((at) => server.root.write(`sys/namespaces/new-${at}`))).toEqual(shared(20))
})

test('what a commit was to make does not exist if it fails', async () => {
  const { root } = server
  await root.write('sys/mounts/before', { type: 'kv' })
  faults.arm('storage.before-commit', 'io')
  const failed = await Promise.all(numbers.map((at) => root.write(`sys/mounts/f${at % 8}`, { type: 'kv' })))
  const again = await Promise.all(numbers.map((at) => root.write(`sys/mounts/f${at % 8}`, { type: 'kv' })))

  const made = [...failed, ...again].filter(({ status }) => status === 204)
  expect(failed.some(({ status }) => status === 503)).toBe(true)
  expect(made).toHaveLength(8)
})

test('roles and keys of identity tokens', async () => {
  const { root } = server
  const role = (at: number) => `identity/oidc/role/r${at}`
  const key = (at: number) => `identity/oidc/key/k${at}`

  expect(await together((at) => root.write(key(at), { algorithm: 'ES256' }))).toEqual(shared(20))
  expect(await together((at) => root.write(role(at), { key: `k${at % 2}` }))).toEqual(shared(20))
  // each finds the roles that were written before it
  const [used, unused] = await Promise.all([root.delete(key(1)), root.delete(key(2))])
  expect([used.status, unused.status]).toEqual([400, 204])
  expect(await together((at) => root.delete(role(at)))).toEqual(shared(20))
  expect((await root.delete(key(1))).status).toBe(204)
})

test('deletions of groups, of which some are members of others', async () => {
  const { root } = server
  const name = (at: number) => `identity/group/name/g${at}`
  await Promise.all(numbers.map((at) => root.write(name(at))))
  const ids = await Promise.all(numbers.map(async (at) => String((await root.read(name(at))).body.data?.id)))
  for (const at of [0, 4, 8])
    await root.write(name(at), { member_group_ids: [ids[at + 1], ids[at + 2], ids[31]] })

  expect(await together((at) => (at === 31 ? root.read(name(at)) : root.delete(name(at))))).toEqual(
    shared(20),
  )
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

  expect(await together((at) => root.write(path, body(at)))).toEqual(shared(20))
  expect((await root.read('auth/approle/role/one')).body.data?.token_policies).toEqual(['kept'])
  expect((await root.read('auth/userpass/users/one')).body.data?.token_ttl).toBe(77)
})
