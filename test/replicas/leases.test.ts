import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServerProcess } from '../../simulators/server-process.ts'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { programFile } from '../support/bundled.ts'
import { Client } from '../support/client.ts'
import { startCredentialProvider } from '../support/credential-provider.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { emptyDatabase, query } from '../support/postgres.ts'
import { practiceType } from '../support/practice-type.ts'
import { sealKey } from '../support/replicas.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** The keys of all records of leases. */
const leaseRows = async (database: string) =>
  (await query(database, "SELECT key FROM records WHERE key LIKE 'core/lease%'")).map(({ key }) =>
    String(key),
  )

const role = (ttl: number) => ({ ttl, maxTtl: 0, renewable: true })

/** Two servers with the practice engine. The first one has all background jobs. */
async function twoServers() {
  const opened = new AsyncDisposableStack()
  const provider = opened.use(await startCredentialProvider())
  const database = opened.use(await emptyDatabase()).url
  const clock = new FakeClock()
  const roles = new Map([
    ['ci', role(3000)],
    ['brief', role(60)],
  ])
  const start = async (name: string) =>
    opened.use(
      await startTestServer({
        clock,
        settings: { STORAGE: database, SEAL_KEY: sealKey, REPLICA_NAME: name },
        plugins: [practiceType({ providerUrl: provider.url, roles })],
      }),
    )
  const holder = await start('holder')
  await holder.root.write('sys/mounts/engine', { type: 'practice' })
  const other = await start('other')
  return {
    provider,
    database,
    clock,
    holder,
    other,
    issue: async (server: TestServer, role = 'ci') => {
      const { body } = await server.root.read(`engine/creds/${role}`)
      return { id: String(body.lease_id), credential: String(body.data?.['credential']) }
    },
    rows: () => leaseRows(database),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

let servers: Awaited<ReturnType<typeof twoServers>>
beforeAll(async () => {
  servers = await twoServers()
})
afterAll(() => servers[Symbol.asyncDispose]())

/** The number of revocations that the provider was asked for. */
const asked = () => [...servers.provider.asked.values()].reduce((sum, count) => sum + count, 0)

test('the holder of the job revokes a lease of another server when it expires, and only then', async () => {
  const { provider, clock, holder, other, issue, rows } = servers
  const brief = await issue(other, 'brief')
  const longer = await issue(other)
  clock.advance(60)

  await provider.gone(brief.credential)
  expect(provider.alive.has(longer.credential)).toBe(true)
  await expect.poll(async () => (await rows()).filter((key) => key.includes(brief.id))).toEqual([])
  expect((await other.root.write('sys/leases/lookup', { lease_id: brief.id })).status).toBe(400)
  expect((await holder.root.write('sys/leases/lookup', { lease_id: longer.id })).status).toBe(200)
  expect(provider.asked.get(brief.credential)).toBe(1)
})

test('a lease that the holder is about to revoke is not renewed by another server', async () => {
  const { provider, clock, other, issue } = servers
  const { id, credential } = await issue(other, 'brief')
  const before = asked()
  provider.mood = 'hanging'
  clock.advance(60)
  await provider.deletions(before + 1)
  provider.mood = 'up'
  // the other server's clock is behind
  clock.advance(-2)

  expect(await other.root.write('sys/leases/renew', { lease_id: id })).toMatchObject({ status: 400 })
  expect(provider.alive.has(credential)).toBe(true)
})

test('a lease that both servers revoke at the same time is gone once, with all its rows', async () => {
  const { provider, clock, holder, other, issue, rows } = servers
  const { id, credential } = await issue(other, 'brief')
  const before = asked()
  provider.mood = 'hanging'
  clock.advance(60)
  await provider.deletions(before + 1)
  provider.mood = 'up'

  expect((await other.root.write('sys/leases/revoke', { lease_id: id, sync: true })).status).toBe(204)
  expect(provider.alive.has(credential)).toBe(false)
  expect((await rows()).filter((key) => key.includes(id))).toEqual([])
  expect((await holder.root.write('sys/leases/lookup', { lease_id: id })).status).toBe(400)
})

test('the leases of a token are revoked by the holder of the job, whichever server revoked the token', async () => {
  const { provider, holder, other } = servers
  await other.root.write('sys/policies/acl/engine', { policy: 'path "engine/*" { capabilities = ["read"] }' })
  const { body } = await other.root.write('auth/token/create', { policies: ['engine'], ttl: '1h' })
  const token = String(body.auth?.client_token)
  const leased = (await other.as(token).read('engine/creds/ci')).body.data?.['credential']
  expect(provider.alive.has(String(leased))).toBe(true)

  await other.root.write('auth/token/revoke', { token })
  await provider.gone(String(leased))
  expect((await holder.as(token).read('auth/token/lookup-self')).status).toBe(403)
})

test('tokens and leases of an entity are removed by the holder of the job, whichever server cut it off', async () => {
  const { provider, database, other } = servers
  await other.root.write('sys/policies/acl/engine', { policy: 'path "engine/*" { capabilities = ["read"] }' })
  await other.root.write('auth/token/roles/r', { allowed_entity_aliases: '*' })
  const { auth } = (
    await other.root.write('auth/token/create/r', { entity_alias: 'bob', policies: ['engine'], ttl: '1h' })
  ).body
  const leased = await other.as(String(auth?.client_token)).read('engine/creds/ci')
  const tokens = () => query(database, "SELECT key FROM records WHERE key LIKE 'core/token/%'")
  const before = (await tokens()).length

  await other.root.write(`identity/entity/id/${auth?.entity_id}/revoke-tokens`)
  await provider.gone(String(leased.body.data?.['credential']))
  await expect.poll(async () => (await tokens()).length).toBe(before - 1)
})

test('the leases of the logins of a mount end on the holder of the job, whichever server disabled it', async () => {
  const { provider, clock, other } = servers
  const signer = aSigner('ES256')
  await other.root.write('sys/auth/ci', { type: 'jwt' })
  await other.root.write('auth/ci/config', { jwt_validation_pubkeys: [signer.pem] })
  const bound = { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'gate' }
  await other.root.write('auth/ci/role/ci', { ...bound, token_policies: ['engine'] })
  const exp = Math.floor(clock.now() / 1000) + 60
  const jwt = signer.sign({ sub: 'bob', aud: 'gate', exp })
  const { auth } = (await other.anonymous.write('auth/ci/login', { role: 'ci', jwt })).body
  const leased = await other.as(String(auth?.client_token)).read('engine/creds/ci')
  expect(leased.status).toBe(200)

  expect((await other.root.delete('sys/auth/ci')).status).toBe(204)
  await provider.gone(String(leased.body.data?.['credential']))
})

test('a revocation in progress on a server that is paused is repeated by another one', async () => {
  await using folder = await temporaryFolder()
  await using provider = await startCredentialProvider()
  await using emptied = await emptyDatabase()
  const database = emptied.url
  await using holder = await startServerProcess({
    folder: folder.path,
    entry: programFile('test/support/practice-server.ts'),
    environment: {
      PRACTICE_PROVIDER: provider.url,
      GATEHOUSE_STORAGE: database,
      GATEHOUSE_SEAL_KEY: sealKey,
      GATEHOUSE_REPLICA_NAME: 'holder',
      GATEHOUSE_POSTGRES_POOL: '3',
    },
  })
  const root = new Client(holder.url, holder.rootToken)
  await root.write('sys/mounts/engine', { type: 'practice' })
  await using other = await startTestServer({
    dev: false,
    settings: { STORAGE: database, SEAL_KEY: sealKey, REPLICA_NAME: 'other' },
    plugins: [practiceType({ providerUrl: provider.url, roles: new Map([['brief', role(1)]]) })],
  })
  provider.mood = 'hanging'
  const { body } = await other.as(holder.rootToken).read('engine/creds/brief')
  await provider.deletions(1)

  process.kill(holder.pid, 'SIGSTOP')
  provider.mood = 'up'
  await query(database, "UPDATE jobs SET until = now() - interval '1 second'")
  await provider.gone(String(body.data?.['credential']))
  process.kill(holder.pid, 'SIGCONT')

  await expect.poll(() => leaseRows(database)).toEqual([])
  expect((await root.write('sys/leases/lookup', { lease_id: body.lease_id })).status).toBe(400)
  expect([...provider.asked.values()]).toEqual([2])
})
