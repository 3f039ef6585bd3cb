import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../support/start-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
  await server.root.write('sys/auth/up', { type: 'userpass' })
  await server.root.write('sys/auth/ar', { type: 'approle' })
})
afterAll(() => server[Symbol.asyncDispose]())

async function login(path: string, body: object) {
  const { auth } = (await server.anonymous.write(path, body)).body
  const entity = await server.root.read(`identity/entity/id/${String(auth?.entity_id)}`)
  const aliases = entity.body.data?.aliases as unknown
  const [alias] = aliases as { metadata: object | null }[]
  return { token: auth?.metadata, alias: alias?.metadata }
}

test('a user gives its alias metadata, and takes it back', async () => {
  const user = 'auth/up/users/ann'
  await server.root.write(user, { password: 'p', alias_metadata: { team: 'red' } })

  expect((await server.root.read(user)).body.data?.alias_metadata).toEqual({ team: 'red' })
  expect(await login('auth/up/login/ann', { password: 'p' })).toEqual({
    alias: { team: 'red' },
    token: { username: 'ann' },
  })
  await server.root.write(user, { alias_metadata: {} })
  expect((await login('auth/up/login/ann', { password: 'p' })).alias ?? {}).toEqual({})
})

test('what a login says counts more than what its role says', async () => {
  await server.root.write('auth/ar/role/r', {
    role_id: 'r-id',
    bind_secret_id: false,
    token_bound_cidrs: '127.0.0.0/8',
    alias_metadata: { role_name: 'other', team: 'red' },
  })

  const { alias, token } = await login('auth/ar/login', { role_id: 'r-id' })

  expect(alias).toEqual({ role_name: 'r', team: 'red' })
  expect(token).toEqual({ role_name: 'r' })
})

test.each([
  ['auth/up/users/ann', { password: 'p' }],
  ['auth/ar/role/r', {}],
  ['auth/jwt/role/r', { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'a' }],
])('%s refuses metadata that no alias may have', async (path, fields) => {
  const answer = await server.root.write(path, { ...fields, alias_metadata: { 'a b': 'x' } })

  expect(answer.status).toBe(400)
  expect(String(answer.body.errors?.[0])).toContain('key contains invalid characters')
})

test('a template of a policy sees it', async () => {
  const accessor = String((await server.root.read('sys/auth')).body.data?.['up/']?.accessor)
  await server.root.write('sys/policies/acl/own', {
    policy: `path "cubbyhole/{{identity.entity.aliases.${accessor}.metadata.team}}/x" { capabilities = ["update", "create"] }`,
  })
  await server.root.write('auth/up/users/bob', {
    password: 'p',
    token_policies: 'own',
    token_no_default_policy: true,
    alias_metadata: 'team=blue',
  })
  const { body } = await server.anonymous.write('auth/up/login/bob', { password: 'p' })
  const bob = server.as(String(body.auth?.client_token))

  expect((await bob.write('cubbyhole/blue/x', { k: 1 })).status).toBe(204)
  expect((await bob.write('cubbyhole/red/x', { k: 1 })).status).toBe(403)
})
