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
