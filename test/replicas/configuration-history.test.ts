import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Json } from '../support/client.ts'
import { startTwoServers, type TwoServers } from '../support/two-servers.ts'

let servers: TwoServers
beforeAll(async () => {
  servers = await startTwoServers()
})
afterAll(() => servers[Symbol.asyncDispose]())

const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: ['a'] }
const both = () => [servers.one.root, servers.other.root] as const

const versionsAt = async (server: 'one' | 'other', path: string): Promise<Json[]> => {
  const answer = await servers[server].root.read(`${path}?history=true`)
  expect([answer.status, answer.text]).toEqual([200, expect.anything()])
  return answer.body.data?.versions as unknown as Json[]
}

test('a server knows the history that another one has written, and takes a change back', async () => {
  const [one, other] = both()
  await one.write('auth/jwt/role/shared', { ...role, token_ttl: 1 })
  await other.write('auth/jwt/role/shared', { ...role, token_ttl: 2 })
  await one.write('auth/jwt/role/shared', { ...role, token_ttl: 3 })

  for (const server of ['one', 'other'] as const)
    expect((await versionsAt(server, 'auth/jwt/role/shared')).map(({ changes }) => changes)).toEqual([
      { token_ttl: { from: 2, to: 3 } },
      { token_ttl: { from: 1, to: 2 } },
      {},
    ])

  expect((await other.write('auth/jwt/role/shared?revert=1')).status).toBe(204)
  await expect.poll(async () => (await one.read('auth/jwt/role/shared')).body.data?.token_ttl).toBe(1)
})

test.each([
  {
    kind: 'roles',
    path: 'auth/jwt/role/raced',
    body: (n: number) => ({ ...role, token_ttl: n }),
    field: 'token_ttl',
  },
  {
    kind: 'policies',
    path: 'sys/policies/acl/raced',
    body: (n: number) => ({ policy: `path "p${n}" { capabilities = ["read"] }` }),
    field: 'policy',
  },
  {
    kind: 'tuning',
    path: 'sys/mounts/cloud/tune',
    body: (n: number) => ({ description: `d${n}` }),
    field: 'description',
  },
  {
    kind: 'settings',
    path: 'sys/config/cors',
    body: (n: number) => ({ allowed_origins: [`https://a${n}.example`] }),
    field: 'allowed_origins',
  },
])(
  'of $kind that two servers write at once, every change is in the history, each after the other',
  async ({ path, body, field }) => {
    const [one, other] = both()
    const numbers = Array.from({ length: 12 }, (_, number) => number + 1)

    const statuses = await Promise.all(
      numbers.map((number) => (number % 2 === 0 ? one : other).write(path, body(number))),
    )

    expect(statuses.map(({ status }) => status)).toEqual(numbers.map(() => 204))
    const versions = await versionsAt('one', path)
    const written = versions.filter(({ operation }) => operation !== null)
    expect(written.map(({ version }) => Number(version))).toEqual(numbers.toReversed())
    const shown = await Promise.all(
      written.map(
        async ({ version }) => (await other.read(`${path}?version=${version}`)).body.data?.fields?.[field],
      ),
    )
    // no form is there twice, and none is missing
    expect(new Set(shown.map((value) => JSON.stringify(value)))).toEqual(
      new Set(
        numbers.map((number) =>
          JSON.stringify(Object.entries(body(number)).find(([name]) => name === field)?.[1]),
        ),
      ),
    )
  },
)

test('the log and the deleted objects are the same on every server', async () => {
  const [one, other] = both()
  await one.write('auth/token/roles/a', {})
  await other.delete('auth/token/roles/a')

  for (const root of both()) {
    const { changes } = (await root.read('sys/history?path=auth/token')).body.data ?? {}
    expect(changes).toMatchObject([{ operation: 'delete' }, { operation: 'create' }])
    expect((await root.read('sys/history/deleted?prefix=auth/token')).body.data?.deleted).toMatchObject([
      { path: 'auth/token/roles/a', version: 2 },
    ])
  }
})
