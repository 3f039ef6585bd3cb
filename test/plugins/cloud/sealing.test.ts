import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { guids, startCloudFixture } from './cloud-fixture.ts'

test('credentials are issued and revoked after a seal and an unseal', async () => {
  await using folder = await temporaryFolder()
  const key = randomBytes(32).toString('hex')
  const settings = { STORAGE: `sqlite:${folder.file('gatehouse.db')}`, SEAL_KEY: key }
  await using fixture = await startCloudFixture({ settings })
  const { root, server, scope, definition } = fixture
  const cloud_roles = [{ role_id: definition(guids.reader), scope: scope() }]
  await root.write('cloud/roles/deploy', { cloud_roles: JSON.stringify(cloud_roles), ttl: '1h' })

  for (let round = 0; round < 2; round += 1) {
    expect(await root.call('PUT', 'sys/seal')).toMatchObject({ status: 204 })
    expect(await server.anonymous.call('PUT', 'sys/unseal', { key })).toMatchObject({ status: 200 })

    const issued = await root.read('cloud/creds/deploy')
    expect(issued).toMatchObject({ status: 200, body: { data: { client_id: expect.any(String) } } })
    const { lease_id } = issued.body
    expect(await root.write('sys/leases/revoke', { lease_id, sync: true })).toMatchObject({ status: 204 })
  }
})
