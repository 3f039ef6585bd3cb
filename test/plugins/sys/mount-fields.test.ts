import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../support/start-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server[Symbol.asyncDispose]())

const fields = {
  allowed_managed_keys: ['k'],
  delegated_auth_accessors: ['auth_jwt_00000000'],
  trim_request_trailing_slashes: true,
}

test('fields of newer versions of Vault are shown as they were written, at the mount and in its tuning', async () => {
  await server.root.write('sys/mounts/a', { type: 'kv', config: fields })
  await server.root.write('sys/auth/b', { type: 'jwt' })
  await server.root.write('sys/auth/b/tune', fields)

  expect((await server.root.read('sys/mounts/a')).body.data?.config).toMatchObject(fields)
  expect((await server.root.read('sys/mounts/a/tune')).body.data).toMatchObject(fields)
  expect((await server.root.read('sys/auth/b/tune')).body.data).toMatchObject(fields)
})

test('a mount that trims slashes serves a path that ends in one like the one without', async () => {
  await server.root.write('sys/mounts/plain', { type: 'kv' })
  await server.root.write('sys/mounts/trims', { type: 'kv', config: { trim_request_trailing_slashes: true } })

  expect((await server.root.write('plain/x/', { k: 'v' })).status).toBe(400)
  expect((await server.root.write('trims/x/', { k: 'v' })).status).toBe(204)
  expect((await server.root.read('trims/x//')).status).not.toBe(200)
  expect((await server.root.read('trims/x/')).body.data).toEqual({ k: 'v' })
  expect((await server.root.list('trims/')).body.data).toEqual({ keys: ['x'] })
  expect((await server.root.delete('trims/x/')).status).toBe(204)

  await server.root.write('sys/mounts/trims/tune', { trim_request_trailing_slashes: false })
  expect((await server.root.write('trims/x/', { k: 'v' })).status).toBe(400)
})

test('policies see the path without the slash', async () => {
  await server.root.write('sys/mounts/seen', { type: 'kv', config: { trim_request_trailing_slashes: true } })
  await server.root.write('seen/x', { k: 'v' })
  await server.root.write('sys/policies/acl/seen', {
    policy: 'path "seen/*" { capabilities = ["read"] } path "seen/x" { capabilities = ["deny"] }',
  })
  const { body } = await server.root.write('auth/token/create', { policies: ['seen'] })

  expect((await server.as(String(body.auth?.client_token)).read('seen/x/')).status).toBe(403)
})
