import { pino } from 'pino'
import { expect, test } from 'vitest'
import { borrowServer } from '../support/borrowed-server.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'

const role = { role_type: 'jwt', user_claim: 'sub', bound_subject: 'a' }

const accounts = { bound_service_account_names: ['a'], bound_service_account_namespaces: ['b'] }

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
  { path: 'auth/kubernetes/role/r', field: 'token_policies', more: accounts },
  { path: 'auth/kubernetes/role/r', field: 'policies', more: accounts },
  { path: 'auth/userpass/users/u', field: 'token_policies', more: { password: 'p' } },
  { path: 'auth/userpass/users/u/policies', field: 'policies' },
]

test.each(writes)('rules about $field at $path see every spelling of a name', async (write) => {
  await using server = await borrowServer()
  for (const type of ['approle', 'kubernetes', 'userpass'])
    await server.root.write(`sys/auth/${type}`, { type })
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
  await using server = await borrowServer()
  await server.root.write('sys/mounts/one', { type: 'kv', options: { version: '1' } })
  const policy =
    'path "one/*" { capabilities = ["create", "update"] allowed_parameters = { note = ["see *"] } }'
  const client = await holding(server, policy)

  expect((await client.write('one/a', { note: 'see a, b' })).status).toBe(204)
  expect((await client.write('one/a', { note: 'saw a, b' })).status).toBe(403)
})

const denying =
  'path "identity/entity" { capabilities = ["update"] denied_parameters = { policies = ["super-admin"] } }'

test('EXACT_LIST_MATCHING compares values as a whole, and the start and sys/health say so', async () => {
  const events: unknown[] = []
  const log = pino({}, { write: (line: string) => void events.push(JSON.parse(line).event) })
  await using server = await startTestServer({ settings: { EXACT_LIST_MATCHING: 'true' }, log })
  const client = await holding(server, denying)
  const statusOf = async (policies: unknown) => (await client.write('identity/entity', { policies })).status

  expect(await statusOf('super-admin')).toBe(403)
  expect(await statusOf(['super-admin'])).toBe(200)
  expect(await statusOf('Super-Admin')).toBe(200)
  expect((await server.anonymous.read('sys/health')).body).toMatchObject({ exact_list_matching: true })
  expect(events).toContain('exact_list_matching')
})

test('without EXACT_LIST_MATCHING, sys/health does not name it', async () => {
  await using server = await borrowServer()

  expect((await server.anonymous.read('sys/health')).body).not.toHaveProperty('exact_list_matching')
})

test.each([
  ['["a","B"]', ['A ', 'b'], 403],
  ['["a","B"]', 'a, b', 403],
  ['["a","B"]', ['b', 'a'], 200],
])('a denied list %s and %j: %i', async (entry, policies, status) => {
  await using server = await borrowServer()
  const client = await holding(server, denying.replace('"super-admin"', entry))

  expect((await client.write('identity/entity', { policies })).status).toBe(status)
})

test.each([
  {
    rule: 'denied_parameters = { token_policies = ["x"] }',
    warning:
      'old_field_name_open: path "auth/approle/role/*": the rule about "token_policies" does not deny "policies", the old name of that field',
  },
  {
    rule: 'allowed_parameters = { token_ttl = ["1h"], "*" = [] }',
    warning:
      'old_field_name_open: path "auth/approle/role/*": the rule about "token_ttl" does not limit "ttl", the old name of that field',
  },
  {
    rule: 'allowed_parameters = { policies = [["a", "b"], "c"] }',
    warning:
      'list_entry_never_matches: path "auth/approle/role/*": allowed_parameters of "policies" has a list among its values, which matches only a list of exactly its elements in their order',
  },
])('the write of a policy warns of $rule', async ({ rule, warning }) => {
  await using server = await borrowServer()

  const policy = `path "auth/approle/role/*" { capabilities = ["update"] ${rule} }`
  const { status, body } = await server.root.write('sys/policies/acl/p', { policy })

  expect([status, body.warnings]).toEqual([200, [warning]])
})

test.each([
  'denied_parameters = { token_policies = ["x"], policies = ["x"] }',
  'denied_parameters = { token_policies = ["x"], "*" = [] }',
  'allowed_parameters = { token_policies = ["x"] }',
  'allowed_parameters = { token_policies = [], "*" = [] }',
  'allowed_parameters = { policies = [["a", "b"]] }',
  'denied_parameters = { constructor = ["x"] }',
])('the write of a policy does not warn of %s', async (rule) => {
  await using server = await borrowServer()

  const policy = `path "auth/approle/role/*" { capabilities = ["update"] ${rule} }`

  expect((await server.root.write('sys/policies/acl/p', { policy })).status).toBe(204)
})
