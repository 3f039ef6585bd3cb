import { afterAll, beforeAll, expect, test } from 'vitest'
import { aLoginMount } from '../plugins/identity/login-mount.ts'
import { type Client, inside } from '../support/client.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'

// Ids of one namespace in the hands of someone who may do everything in another.

let server: TestServer
let stranger: Client
let ids: { token: string; accessor: string; lease: string; entity: string }

const everything = 'path "*" { capabilities = ["create", "read", "update", "delete", "list", "sudo"] }'

beforeAll(async () => {
  server = await startTestServer()
  for (const namespace of ['mine', 'theirs']) {
    await server.root.write(`sys/namespaces/${namespace}`)
    await server.root.write('sys/policies/acl/all', { policy: everything }, inside(namespace))
  }
  const mine = await server.root.write('auth/token/create', { policies: ['all'] }, inside('mine'))
  stranger = server.as(String(mine.body.auth?.client_token))
  const mount = await aLoginMount(server, 'jwt', { namespace: 'theirs' })
  const { token, entityId } = await mount.login('alice')
  const own = await server.as(token).read('auth/token/lookup-self', inside('theirs'))
  const leases = await server.root.list('sys/leases/lookup/auth/jwt/login', inside('theirs'))
  ids = {
    token,
    entity: entityId,
    accessor: String(own.body.data?.accessor),
    lease: `auth/jwt/login/${String(leases.body.data?.keys?.[0])}`,
  }
})
afterAll(() => server[Symbol.asyncDispose]())

/** The response for an id, with the id removed from the text. */
async function said(path: string, body: object, id: string) {
  const answer = await stranger.write(path.replace('@', id), body, inside('mine'))
  return { status: answer.status, text: answer.text.replaceAll(id, '@').replace(/"request_id":"[^"]*"/, '') }
}

const uses = [
  ...['lookup', 'renew', 'revoke'].map((verb) => ({
    id: 'accessor' as const,
    path: `auth/token/${verb}-accessor`,
    field: 'accessor',
  })),
  { id: 'accessor' as const, path: 'sys/capabilities-accessor', field: 'accessor' },
  { id: 'entity' as const, path: 'identity/lookup/entity', field: 'id' },
  { id: 'entity' as const, path: 'identity/entity/id/@', field: 'name' },
  { id: 'entity' as const, path: 'identity/entity/id/@/revoke-tokens', field: 'x' },
  { id: 'lease' as const, path: 'sys/leases/revoke-prefix/@', field: 'x' },
]

test.each(uses)(
  '$path with an $id of another namespace answers as with one that never was',
  async ({ id, path, field }) => {
    const never = ids[id].replace(/[0-9A-Za-z]{4}(?=\.[0-9A-Za-z]{6}$)/, 'zzzz')

    const known = await said(path, { [field]: ids[id], paths: ['a'] }, ids[id])

    expect(known).toEqual(await said(path, { [field]: never, paths: ['a'] }, never))
  },
)

test.each(['lookup', 'renew', 'revoke'])(
  'sys/leases/%s and auth/token/%s refuse ids of another namespace',
  async (verb) => {
    expect((await stranger.write(`sys/leases/${verb}`, { lease_id: ids.lease }, inside('mine'))).status).toBe(
      403,
    )
    expect((await stranger.write(`auth/token/${verb}`, { token: ids.token }, inside('mine'))).status).toBe(
      403,
    )
  },
)

test('after all of these requests the token is still valid', async () => {
  const own = await server.as(ids.token).read('auth/token/lookup-self', inside('theirs'))
  const lease = await server.root.write('sys/leases/lookup', { lease_id: ids.lease }, inside('theirs'))

  expect(own.body.data).toMatchObject({ accessor: ids.accessor, entity_id: ids.entity })
  expect(lease.body.data).toMatchObject({ id: ids.lease, last_renewal: null })
})
