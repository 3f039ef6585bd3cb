import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../support/start-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
  await server.root.write('sys/auth/jwt', { type: 'jwt' })
})
afterAll(() => server[Symbol.asyncDispose]())

const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'gate' }
const message = { title: 't', message: 'bQ==', start_time: '2026-01-01T00:00:00Z' }

test.each([
  { path: 'auth/jwt/role/r', field: 'token_num_uses', others: role },
  { path: 'auth/jwt/role/old', field: 'num_uses', others: role },
  { path: 'auth/token/roles/r', field: 'token_num_uses', others: {} },
])('an empty $field of $path is 0 and replaces the stored value', async ({ path, field, others }) => {
  await server.root.write(path, { ...others, [field]: '7' })
  expect((await server.root.read(path)).body.data).toMatchObject({ token_num_uses: 7 })

  expect((await server.root.write(path, { ...others, [field]: '' })).status).toBe(204)

  // a role of the token store shows it only while there is a limit
  expect((await server.root.read(path)).body.data?.['token_num_uses'] ?? 0).toBe(0)
})

test('an empty num_uses of a new token means no limit', async () => {
  const { status, body } = await server.root.write('auth/token/create', {
    policies: ['default'],
    num_uses: '',
  })

  expect([status, body.auth?.['num_uses']]).toEqual([200, 0])
})

test('an empty priority of a message is 0', async () => {
  const { status, body } = await server.root.write('sys/config/ui/custom-messages', {
    ...message,
    priority: '',
  })

  expect(status).toBe(200)
  expect(
    (await server.root.read(`sys/config/ui/custom-messages/${String(body.data?.['id'])}`)).body.data,
  ).toMatchObject({ priority: 0 })
})
