import { expect, test } from 'vitest'
import { unbuiltLimits } from '../../src/http/resource/unbuilt-limits.ts'
import { borrowServer } from '../support/borrowed-server.ts'
import type { TestServer } from '../support/start-server.ts'

const role = { role_type: 'jwt', user_claim: 'sub', bound_subject: 'a' }
const limits = unbuiltLimits.flatMap(({ fields, source }) => fields.map((field) => ({ field, source })))

/** Paths that have none of the fields: roles of every kind, and what clients write most. */
const paths: readonly { path: string; fields: Record<string, unknown> }[] = [
  { path: 'auth/jwt/role/r', fields: role },
  { path: 'auth/approle/role/r', fields: {} },
  { path: 'auth/token/roles/r', fields: {} },
  { path: 'auth/userpass/users/u', fields: { password: 'p' } },
  { path: 'auth/token/create', fields: {} },
  { path: 'identity/entity', fields: { name: 'e' } },
  { path: 'sys/namespaces/n', fields: {} },
]

async function startWithLogins(): Promise<TestServer> {
  const server = await borrowServer()
  for (const type of ['approle', 'userpass']) await server.root.write(`sys/auth/${type}`, { type })
  return server
}

/** Whether the path of this test has the field itself. */
const isBuilt = (path: string, field: string): boolean =>
  field === 'token_strictly_bind_ip' && /jwt|approle|userpass/.test(path)

test.each(paths)('$path refuses each limit that it does not have, by its name', async ({ path, fields }) => {
  await using server = await startWithLogins()
  const answers: Record<string, unknown> = {}
  const expected: Record<string, unknown> = {}

  for (const { field } of limits.filter((limit) => !isBuilt(path, limit.field))) {
    const { status, body } = await server.root.write(path, { ...fields, [field]: ['x'] })
    answers[field] = [status, body.errors]
    expected[field] = [400, [`field "${field}" would limit what is granted, and this path does not have it`]]
  }

  expect(answers).toEqual(expected)
})

test.each([[null], [''], ['0s'], [false], ['false'], [0], [[]], [['']], [{}]])(
  'a limit whose value is %j limits nothing, and is taken',
  async (value) => {
    await using server = await startWithLogins()
    const refused: string[] = []

    for (const { field } of limits) {
      const { status } = await server.root.write('auth/token/roles/r', { [field]: value })
      if (status >= 300) refused.push(field)
    }

    expect(refused).toEqual([])
  },
)

test('a refused write changes nothing', async () => {
  await using server = await startWithLogins()

  await server.root.write('auth/approle/role/r', { bound_region: 'eu' })

  expect((await server.root.read('auth/approle/role/r')).status).toBe(404)
})

test('whoever may not write there learns nothing about the fields of a path', async () => {
  await using server = await startWithLogins()
  const field = { bound_region: 'eu' }
  await server.root.write('sys/policies/acl/none', { policy: 'path "x" { capabilities = ["read"] }' })
  const { body } = await server.root.write('auth/token/create', { policies: ['none'] })
  const narrow = server.as(String(body.auth?.client_token))

  expect((await server.anonymous.write('auth/approle/role/r', field)).status).toBe(403)
  expect((await narrow.write('auth/approle/role/r', field)).status).toBe(403)
})

test('names of limits are ordinary names inside secrets', async () => {
  await using server = await borrowServer()
  await server.root.write('sys/mounts/one', { type: 'kv', options: { version: '1' } })
  const data = { audience: 'x', seal: 'y', bound_region: 'z' }

  expect((await server.root.write('one/a', data)).status).toBe(204)
  expect((await server.root.write('cubbyhole/a', data)).status).toBe(204)
  expect(
    (await server.root.write('sys/wrapping/wrap', data, { headers: { 'x-vault-wrap-ttl': '1m' } })).status,
  ).toBe(200)
})

test('a limit in the configuration of a new mount counts in any letter case', async () => {
  await using server = await borrowServer()

  await server.root.write('sys/mounts/one', { type: 'kv', config: { Max_Lease_TTL: '1h' } })

  const { body } = await server.root.read('sys/mounts/one')
  expect(body.data).toMatchObject({ config: { max_lease_ttl: 3600 } })
})
