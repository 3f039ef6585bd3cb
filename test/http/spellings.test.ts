import { beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../support/start-server.ts'

let server: TestServer

const rules = `
path "auth/jwt/role/*"    { capabilities = ["create", "read", "update", "delete"] }
path "auth/jwt/role/prod" { capabilities = ["deny"] }
path "auth/jwt/role/other" { capabilities = ["read"] }
path "sys/policies/acl/*"      { capabilities = ["create", "read", "update", "delete"] }
path "sys/policies/acl/secret" { capabilities = ["deny"] }
path "sys/policy/*"      { capabilities = ["create", "read", "update", "delete"] }
path "sys/policy/secret" { capabilities = ["deny"] }
`
const role = { role_type: 'jwt', user_claim: 'sub', bound_subject: 'a' }

beforeAll(async () => {
  server = await startTestServer()
  await server.root.write('sys/policies/acl/limited', { policy: rules })
  for (const name of ['prod', 'other']) await server.root.write(`auth/jwt/role/${name}`, role)
  await server.root.write('sys/policies/acl/secret', { policy: 'path "x" { capabilities = ["read"] }' })
  return () => server[Symbol.asyncDispose]()
})

const limited = async () => server.as(String((await server.root.write('auth/token/create', { policies: ['limited'] })).body.auth?.client_token))

test.each([
  'auth/jwt/role/prod',
  'auth/jwt/role/PROD',
  'auth/jwt/role/Prod',
  'auth/jwt/role/%50rod',
  'sys/policies/acl/SECRET',
  'sys/policies/acl/%20secret',
  'sys/policies/acl/secret%20',
  'sys/policy/Secret',
])('a denied name is denied as %s too', async (path) => {
  const caller = await limited()
  const denied = { status: 403, body: { errors: ['1 error occurred:\n\t* permission denied\n\n'] } }

  expect(await caller.read(path)).toMatchObject(denied)
  expect(await caller.write(path, { ...role, policy: 'path "y" {}' })).toMatchObject(denied)
  expect(await caller.delete(path)).toMatchObject(denied)
})

test.each(['auth/jwt/role/Other', 'auth/jwt/role/Fresh', 'sys/policies/acl/Fresh'])(
  '%s, which no rule denies, is judged as it is written: byte for byte',
  async (path) => {
    const caller = await limited()

    expect((await caller.write(path, { ...role, policy: 'path "y" {}' })).status).toBeLessThan(300)
    expect((await caller.read(path)).status).toBe(200)
  },
)
