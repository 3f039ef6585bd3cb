import { expect, test } from 'vitest'
import { invalidTokenText } from '../../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'

const maker = 'path "auth/token/*" { capabilities = ["create", "update", "read", "sudo"] }'

async function make(server: TestServer, input: object = {}) {
  await server.root.write('sys/policies/acl/maker', { policy: maker })
  const { auth } = (
    await server.root.write('auth/token/create', { policies: ['default', 'maker'], ttl: '1h', ...input })
  ).body
  return {
    id: String(auth?.client_token),
    accessor: String(auth?.accessor),
    client: server.as(String(auth?.client_token)),
  }
}

const statusOfSelf = async (server: TestServer, id: string) =>
  (await server.as(id).read('auth/token/lookup-self')).status
const times = <T>(count: number, work: (at: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, at) => work(at)))

test('nothing of a token is left after its revocation, whatever it does meanwhile', async () => {
  await using server = await startTestServer()
  const { root } = server
  const parent = await make(server)
  const made: string[] = []

  const work = times(60, async (at) => {
    if (at === 20) return root.write('auth/token/revoke', { token: parent.id })
    if (at === 21) return root.write('auth/token/revoke-accessor', { accessor: parent.accessor })
    if (at % 3 === 0) return parent.client.write('auth/token/renew-self', { increment: 3600 })
    if (at % 3 === 1) return parent.client.write('cubbyhole/x', { at })
    const answer = await parent.client.write('auth/token/create', {
      type: at % 2 === 0 ? 'service' : 'batch',
    })
    if (answer.status === 200) made.push(String(answer.body.auth?.client_token))
    return answer
  })

  for (const { status } of await work) expect([200, 204, 400, 403]).toContain(status)
  expect(made.length).toBeGreaterThan(0)
  for (const id of [parent.id, ...made]) expect(await statusOfSelf(server, id)).toBe(403)
  const { keys } = (await root.list('auth/token/accessors')).body.data ?? {}
  expect(keys).toHaveLength(1)
})

test('of concurrent requests of every kind, exactly as many succeed as there are uses', async () => {
  await using server = await startTestServer()
  const limited = await make(server, { num_uses: 7 })

  const answers = await times(40, (at) => {
    const { client } = limited
    if (at % 4 === 0) return client.read('auth/token/lookup-self')
    if (at % 4 === 1) return client.write('auth/token/renew-self')
    if (at % 4 === 2) return client.read('sys/mounts')
    return client.write('auth/token/create')
  })

  const refused = answers.filter(
    ({ status, body }) => status === 403 && String(body.errors?.[0]) === invalidTokenText,
  )
  expect(refused).toHaveLength(33)
  expect(await statusOfSelf(server, limited.id)).toBe(403)
  expect((await server.root.write('auth/token/lookup-accessor', { accessor: limited.accessor })).status).toBe(
    400,
  )
})

test('a renewal follows a role that is changed concurrently, and its last version counts', async () => {
  await using server = await startTestServer()
  const { root } = server
  await root.write('auth/token/roles/r', { token_period: 100 })
  const { auth } = (await root.write('auth/token/create/r', { policies: ['default'] })).body
  const token = server.as(String(auth?.client_token))
  const periods = [100, 200, 300, 400, 500]

  const answers = await times(50, (at) =>
    at % 5 === 0
      ? root.write('auth/token/roles/r', { token_period: periods[(at / 5) % 5] })
      : token.write('auth/token/renew-self', { increment: 7 }),
  )

  for (const { status, body } of answers)
    if (status !== 204) expect(periods).toContain(body.auth?.lease_duration)
  await root.write('auth/token/roles/r', { token_period: 0, token_explicit_max_ttl: '1m' })
  expect((await token.write('auth/token/renew-self', { increment: 30 })).body.auth?.lease_duration).toBe(30)
  await root.delete('auth/token/roles/r')
  expect((await token.write('auth/token/renew-self')).status).toBe(400)
})

test('after a concurrent revoke and revoke-orphan the token is gone, and each child is refused or an orphan', async () => {
  await using server = await startTestServer()
  const { root } = server
  const parent = await make(server)
  const children = await times(10, async () =>
    String((await parent.client.write('auth/token/create', {})).body.auth?.client_token),
  )

  const answers = await Promise.all([
    root.write('auth/token/revoke-orphan', { token: parent.id }),
    root.write('auth/token/revoke', { token: parent.id }),
    root.write('auth/token/revoke-orphan', { token: parent.id }),
  ])

  for (const { status } of answers) expect([204, 400]).toContain(status)
  expect(await statusOfSelf(server, parent.id)).toBe(403)
  for (const id of children) {
    const { status, body } = await server.as(id).read('auth/token/lookup-self')
    if (status === 200) expect(body.data?.orphan).toBe(true)
    else expect(status).toBe(403)
  }
})

test('many concurrent renewals of one token each return what was granted', async () => {
  await using server = await startTestServer()
  const token = await make(server)

  const answers = await times(40, (at) =>
    token.client.write('auth/token/renew-self', { increment: 100 + at }),
  )

  for (const [at, { status, body }] of answers.entries())
    expect([status, body.auth?.lease_duration]).toEqual([200, 100 + at])
})
