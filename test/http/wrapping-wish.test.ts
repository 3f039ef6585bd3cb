import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../support/start-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server[Symbol.asyncDispose]())

test.each(['60', '1m', '500ms'])('who asks for a wrapped answer for %s does not get the plain one', async (ttl) => {
  const answer = await server.root.read('auth/token/lookup-self', { headers: { 'X-Vault-Wrap-TTL': ttl } })

  expect([answer.status, answer.body.errors]).toEqual([400, ['response wrapping is not available yet']])
})

test.each(['0', '', '0s'])('%j asks for none', async (ttl) => {
  const answer = await server.root.read('auth/token/lookup-self', { headers: { 'X-Vault-Wrap-TTL': ttl } })

  expect(answer.status).toBe(200)
})

test('a write or deletion that answers without a body is done all the same', async () => {
  const written = await server.root.write('cubbyhole/a', { b: 'c' }, { headers: { 'X-Vault-Wrap-TTL': '60' } })
  const deleted = await server.root.delete('cubbyhole/a', { headers: { 'X-Vault-Wrap-TTL': '60' } })

  expect([written.status, deleted.status]).toEqual([204, 204])
})
