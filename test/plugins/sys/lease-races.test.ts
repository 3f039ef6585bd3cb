import { expect, test } from 'vitest'
import type { Client } from '../../support/client.ts'
import { startCredentialProvider } from '../../support/credential-provider.ts'
import { practiceType } from '../../support/practice-type.ts'
import { startTestServer } from '../../support/start-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const atOnce = 24
const many = Array.from({ length: atOnce }, (_, at) => at)

type Issued = { id: string; credential: string }

/**
 * A server on a file with the practice engine at `engine/`. Its responses can be compared with what its
 * provider says.
 */
async function openServer() {
  const opened = new AsyncDisposableStack()
  const folder = opened.use(await temporaryFolder())
  const provider = opened.use(await startCredentialProvider())
  const roles = new Map([['ci', { ttl: 3600, maxTtl: 0, renewable: true }]])
  const settings = {
    STORAGE: `sqlite:${folder.file('gatehouse.db')}`,
    SEAL_KEY_FILE: folder.file('seal.key'),
  }
  const server = opened.use(
    await startTestServer({ settings, plugins: [practiceType({ providerUrl: provider.url, roles })] }),
  )
  const { root } = server
  await root.write('sys/mounts/engine', { type: 'practice' })
  await root.write('sys/policies/acl/engine', { policy: 'path "engine/*" { capabilities = ["read"] }' })
  const issue = async (client: Client = root, at = {}): Promise<Issued | undefined> => {
    const { status, body } = await client.read('engine/creds/ci', at)
    if (status !== 200) {
      expect([400, 403, 404]).toContain(status)
      return undefined
    }
    return { id: String(body.lease_id), credential: String(body.data?.credential) }
  }
  const hasLease = async (id: string) =>
    (await root.write('sys/leases/lookup', { lease_id: id })).status === 200
  /**
   * The credentials with a lease, once they are exactly those of the provider; never resolves if the two do
   * not come to agree.
   */
  const kept = async (issued: readonly (Issued | undefined)[]): Promise<Issued[]> => {
    const leased: Issued[] = []
    for (const one of issued) if (one !== undefined && (await hasLease(one.id))) leased.push(one)
    const { alive } = provider
    return alive.size === leased.length && leased.every(({ credential }) => alive.has(credential))
      ? leased
      : kept(issued)
  }
  return { ...server, provider, issue, kept, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** The nth of several calls lets others run for n turns first. */
async function afterTurns<T>(turns: number, call: () => Promise<T>): Promise<T> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate)
  return call()
}

test('concurrent renewals, revocations and lookups of the same leases stay consistent', async () => {
  await using server = await openServer()
  const issued = await Promise.all(many.map(() => server.issue()))
  const statuses = await Promise.all(
    issued.flatMap((one, at) => {
      const lease_id = one?.id ?? ''
      const put = (path: string, body: object) =>
        server.root.call('PUT', `sys/leases/${path}`, body).then(({ status }) => status)
      return [
        put('renew', { lease_id, increment: 600 }),
        afterTurns(at, () => put('revoke', { lease_id, sync: at % 2 === 0 })),
        put('renew', { lease_id, increment: 900 }),
        afterTurns(atOnce - at, () => put(`revoke-prefix/${lease_id}`, {})),
        afterTurns(2 * at, () => put(`revoke-force/${lease_id}`, {})),
        put('lookup', { lease_id }),
      ]
    }),
  )

  expect(statuses.filter((status) => ![200, 202, 204, 400].includes(status))).toEqual([])
  expect(await server.kept(issued)).toEqual([])
  expect([...server.provider.asked.values()].every((count) => count === 1)).toBe(true)
})

test('a prefix can be revoked while secrets are issued below it', async () => {
  await using server = await openServer()
  const before = await Promise.all(many.map(() => server.issue()))

  const during = many.map((turns) => afterTurns(turns, () => server.issue()))
  expect((await server.root.call('PUT', 'sys/leases/revoke-prefix/engine', {})).status).toBe(204)
  const issued = [...before, ...(await Promise.all(during))]

  const kept = await server.kept(issued)
  expect(kept.filter((one) => before.includes(one))).toEqual([])
})

test.each([
  { name: 'disabled', end: (root: Client) => root.delete('sys/mounts/engine') },
  { name: 'moved', end: (root: Client) => root.write('sys/remount', { from: 'engine', to: 'moved' }) },
])('a mount can be $name while it issues secrets', async ({ end }) => {
  await using server = await openServer()
  const during = many.map((turns) => afterTurns(turns, () => server.issue()))

  const ended = afterTurns(atOnce / 2, () => end(server.root))
  const issued = await Promise.all(during)

  expect((await ended).status).toBeLessThan(300)
  while ((await server.root.read('sys/mounts')).body.data?.['engine/'] !== undefined)
    await new Promise(setImmediate)
  expect(await server.kept(issued)).toEqual([])
})

test('a token can be revoked while it is issued secrets', async () => {
  await using server = await openServer()
  for (let round = 0; round < 5; round += 1) {
    const { body } = await server.root.write('auth/token/create', { policies: ['engine'] })
    const client = server.as(String(body.auth?.client_token))
    const during = many.map((turns) => afterTurns(turns, () => server.issue(client)))
    const revoked = afterTurns(round * 5, () => client.write('auth/token/revoke-self'))

    const issued = await Promise.all(during)
    expect((await revoked).status).toBe(204)

    expect(await server.kept(issued)).toEqual([])
  }
})

test('a namespace can be deleted while secrets are issued in it', async () => {
  await using server = await openServer()
  await server.root.write('sys/namespaces/a')
  const inside = { headers: { 'X-Vault-Namespace': 'a' } }
  await server.root.write('sys/mounts/engine', { type: 'practice' }, inside)
  const during = many.map((turns) => afterTurns(turns, () => server.issue(server.root, inside)))

  const deleted = afterTurns(atOnce / 2, () => server.root.delete('sys/namespaces/a'))
  await Promise.all(during)

  expect((await deleted).status).toBe(200)
  await server.provider.gone()
})

test('tidy works during all of that', async () => {
  await using server = await openServer()
  const { body } = await server.root.write('auth/token/create', { policies: ['engine'] })
  const client = server.as(String(body.auth?.client_token))
  const kept = await Promise.all(many.map(() => server.issue()))

  const during = many.map((turns) => afterTurns(turns, () => server.issue(client)))
  const tidied = many.map((turns) =>
    afterTurns(turns, () => server.root.write('sys/leases/tidy').then(({ status }) => status)),
  )
  const revoked = afterTurns(atOnce / 2, () => client.write('auth/token/revoke-self'))
  const issued = [...kept, ...(await Promise.all(during))]
  await revoked

  expect((await Promise.all(tidied)).filter((status) => status !== 200 && status !== 202)).toEqual([])
  expect(await server.kept(issued)).toEqual(kept)
})
