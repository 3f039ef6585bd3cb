import { expect, test } from 'vitest'
import { startServerProcess } from '../../simulators/server-process.ts'
import { StorageFaults } from '../../src/storage/faults.ts'
import { programFile } from '../support/bundled.ts'
import { Client } from '../support/client.ts'
import { type CredentialProvider, startCredentialProvider } from '../support/credential-provider.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { practiceType } from '../support/practice-type.ts'
import { startTestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A server on a database file that can be restarted with the same provider and clock. */
function launcher(folder: { file(name: string): string }, provider: CredentialProvider, clock?: FakeClock) {
  const roles = new Map([['ci', { ttl: 5000, maxTtl: 7200, renewable: true }]])
  const settings = {
    STORAGE: `sqlite:${folder.file('gatehouse.db')}`,
    SEAL_KEY_FILE: folder.file('seal.key'),
  }
  return (faults = new StorageFaults()) =>
    startTestServer({
      ...(clock && { clock }),
      faults,
      settings,
      plugins: [practiceType({ providerUrl: provider.url, roles })],
    })
}

async function issuedBefore(launch: ReturnType<typeof launcher>) {
  await using server = await launch()
  await server.root.write('sys/mounts/engine', { type: 'practice' })
  const { body } = await server.root.read('engine/creds/ci')
  return { id: String(body.lease_id), credential: String(body.data?.credential) }
}

test('leases that expired while the server was down are revoked when it starts', async () => {
  await using folder = await temporaryFolder()
  await using provider = await startCredentialProvider()
  const clock = new FakeClock()
  const launch = launcher(folder, provider, clock)
  const { id, credential } = await issuedBefore(launch)
  expect(provider.alive.has(credential)).toBe(true)
  clock.advance(5000)

  await using server = await launch()

  await provider.gone(credential)
  expect((await server.root.write('sys/leases/renew', { lease_id: id })).status).toBe(400)
  expect(provider.asked.get(credential)).toBe(1)
})

test('a renewal after a restart still counts from the issue', async () => {
  await using folder = await temporaryFolder()
  await using provider = await startCredentialProvider()
  const clock = new FakeClock()
  const launch = launcher(folder, provider, clock)
  const { id } = await issuedBefore(launch)
  clock.advance(3600)

  await using server = await launch()
  const { body } = await server.root.write('sys/leases/renew', { lease_id: id, increment: '2h' })

  expect(body).toMatchObject({ lease_id: id, lease_duration: 3600 })
  expect(body.warnings).toEqual([
    'TTL of "2h" exceeded the effective max_ttl of "1h"; TTL value is capped accordingly',
  ])
})

test.each(['service', 'batch'])(
  'leases of a %s token are revoked after a restart if the server stopped while all tokens of the entity were being revoked',
  async (type) => {
    await using folder = await temporaryFolder()
    await using provider = await startCredentialProvider()
    const launch = launcher(folder, provider, new FakeClock())
    {
      const faults = new StorageFaults()
      await using server = await launch(faults)
      const { root } = server
      await root.write('sys/mounts/engine', { type: 'practice' })
      await root.write('sys/policies/acl/p', { policy: 'path "engine/*" { capabilities = ["read"] }' })
      await root.write('auth/token/roles/r', { allowed_entity_aliases: '*', orphan: true, renewable: false })
      const { auth } = (
        await root.write('auth/token/create/r', { entity_alias: 'bob', policies: ['p'], type })
      ).body
      expect((await server.as(String(auth?.client_token)).read('engine/creds/ci')).status).toBe(200)
      // the revocation of the tokens is stored, but its consequences are not
      faults.arm('storage.before-commit', 'full', 1)
      expect((await root.write(`identity/entity/id/${auth?.entity_id}/revoke-tokens`)).status).toBe(204)
    }
    expect(provider.alive.size).toBe(1)

    await using _server = await launch()

    await provider.gone()
  },
)

test('after kill -9, acknowledged leases exist, and revocations in progress complete', async () => {
  await using folder = await temporaryFolder()
  await using provider = await startCredentialProvider()
  const options = {
    folder: folder.path,
    entry: programFile('test/support/practice-server.ts'),
    environment: { PRACTICE_PROVIDER: provider.url },
  }
  await using killed = await startServerProcess(options)
  const root = new Client(killed.url, killed.rootToken)
  await root.write('sys/mounts/engine', { type: 'practice' })
  const issue = async () => {
    const { body } = await root.read('engine/creds/ci')
    return { id: String(body.lease_id), credential: String(body.data?.credential) }
  }
  const [kept, ended, queued, asked] = [await issue(), await issue(), await issue(), await issue()]
  await root.write('sys/leases/revoke', { lease_id: ended.id })
  provider.mood = 'hanging'
  await root.write('sys/leases/revoke', { lease_id: queued.id, sync: false })
  const cut = root.write('sys/leases/revoke', { lease_id: asked.id }).catch(() => undefined)
  await provider.deletions(3)

  await killed.stop('SIGKILL')
  await cut
  provider.mood = 'up'
  await using next = await launcher(folder, provider)()

  await provider.gone(queued.credential)
  const again = next.as(killed.rootToken)
  const status = async (id: string) => (await again.write('sys/leases/lookup', { lease_id: id })).status
  expect([...provider.alive].sort()).toEqual([kept.credential, asked.credential].sort())
  expect([await status(kept.id), await status(ended.id), await status(asked.id)]).toEqual([200, 400, 200])
})
