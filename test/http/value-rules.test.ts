import { expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../support/start-server.ts'

const role = { role_type: 'jwt', user_claim: 'sub', bound_subject: 'a' }

async function holding(server: TestServer, policy: string) {
  await server.root.write('sys/policies/acl/rules', { policy })
  const { body } = await server.root.write('auth/token/create', { policies: ['rules'] })
  return server.as(String(body.auth?.client_token))
}

/** Writes of every kind that assign policies. */
const writes = [
  { path: 'identity/entity', field: 'policies' },
  { path: 'identity/group', field: 'policies' },
  { path: 'auth/token/roles/r', field: 'allowed_policies' },
  { path: 'auth/token/roles/r', field: 'disallowed_policies' },
  { path: 'auth/token/create', field: 'policies', notCommas: true },
  { path: 'auth/jwt/role/r', field: 'token_policies', more: role },
  { path: 'auth/jwt/role/r', field: 'policies', more: role },
  { path: 'auth/approle/role/r', field: 'token_policies' },
  { path: 'auth/approle/role/r/policies', field: 'token_policies' },
  { path: 'auth/userpass/users/u', field: 'token_policies', more: { password: 'p' } },
  { path: 'auth/userpass/users/u/policies', field: 'policies' },
]

test.each(writes)('rules about $field at $path see every spelling of a name', async (write) => {
  await using server = await startTestServer()
  for (const type of ['approle', 'userpass']) await server.root.write(`sys/auth/${type}`, { type })
  await server.root.write('auth/approle/role/r', { token_policies: ['first'] })
  await server.root.write('auth/userpass/users/u', { password: 'p' })
  const { path, field, more = {}, notCommas = false } = write
  const refused = async (rule: string, values: readonly unknown[]) => {
    const client = await holding(
      server,
      `path "${path}" { capabilities = ["create", "update", "sudo"] ${rule} }`,
    )
    const answers: number[] = []
    for (const value of values) answers.push((await client.write(path, { ...more, [field]: value })).status)
    return answers.map((status) => status === 403)
  }
  const spelled = ['super-admin', 'Super-Admin', ' super-admin', ['x', 'super-admin'], [' SUPER-ADMIN ']]
  const joined = notCommas ? [] : ['default,super-admin']

  const denied = await refused(`denied_parameters = { "${field}" = ["super-admin"] }`, [
    ...spelled,
    ...joined,
  ])
  const others = await refused(`denied_parameters = { "${field}" = ["super-admin"] }`, [
    ['x'],
    'super-admins',
  ])
  const names = `"${field}" = ["test-*"] "*" = []`
  const allowed = await refused(`allowed_parameters = { ${names} }`, ['test-a', ['test-a', 'Test-b']])
  const mixed = notCommas ? [['test-a', 'admin']] : ['test-a,admin', ['test-a', 'admin']]
  const both = await refused(`allowed_parameters = { ${names} }`, mixed)

  expect(denied).toEqual(denied.map(() => true))
  expect(others).toEqual([false, false])
  expect(allowed).toEqual([false, false])
  expect(both).toEqual(mixed.map(() => true))
})

test('a value in a secret is no list, whatever its commas', async () => {
  await using server = await startTestServer()
  await server.root.write('sys/mounts/one', { type: 'kv', options: { version: '1' } })
  const policy =
    'path "one/*" { capabilities = ["create", "update"] allowed_parameters = { note = ["see *"] } }'
  const client = await holding(server, policy)

  expect((await client.write('one/a', { note: 'see a, b' })).status).toBe(204)
  expect((await client.write('one/a', { note: 'saw a, b' })).status).toBe(403)
})
