import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import type { Json } from '../support/client.ts'

const stack = new AsyncDisposableStack()
let server: TestServer
let file: string

beforeAll(async () => {
  const folder = stack.use(await temporaryFolder())
  file = join(folder.path, 'audit.log')
  server = stack.use(await startTestServer({ settings: { AUDIT_DIRS: folder.path } }))
  const { root } = server
  const enabled = await root.write('sys/audit/file', { type: 'file', options: { file_path: file } })
  expect(enabled.status).toBe(204)
})
afterAll(() => stack.disposeAsync())

/** The request and response entries of the file. */
const entries = (): Json[] =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type === 'request' || type === 'response')

/** The entries that a call writes. */
async function entriesOf(call: () => Promise<unknown>): Promise<Json[]> {
  const before = entries().length
  await call()
  return entries().slice(before)
}

describe('audit', () => {
  test('x', async () => {
    const found = await entriesOf(() => server.root.read('auth/jwt/config'))
    console.log(readFileSync(file, 'utf8'), found)
    console.log(await entriesOf(() => server.root.write('auth/token/create', { ttl: '1h' })))
    console.log(await entriesOf(() => server.anonymous.write('auth/jwt/login', { jwt: 'secret' })))
    console.log(await entriesOf(() => server.anonymous.read('auth/jwt/config')))
  })
})
