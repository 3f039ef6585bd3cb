import { expect, test } from 'vitest'
import { restorationNote } from '../../../../src/core/barrier/restoration-note.ts'
import { backUp } from '../../../../src/storage/copies/backup.ts'
import { restoreBackup } from '../../../../src/storage/copies/restore.ts'
import { StorageFaults } from '../../../../src/storage/faults.ts'
import { startTestServer } from '../../../support/start-server.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { aCredential, aRole, cleared, debris, kindsOf, until } from '../credential-steps.ts'
import { aPool, applications, poolsAt, startPoolFixture } from './pool-steps.ts'

async function startStored() {
  const folder = await temporaryFolder()
  const path = folder.file('gatehouse.db')
  const faults = new StorageFaults()
  const settings = { STORAGE: `sqlite:${path}`, SEAL_KEY: 'ab'.repeat(32) }
  const fixture = await startPoolFixture({ faults, settings })
  return {
    fixture,
    faults,
    path,
    backup: folder.file('backup'),
    settings,
    [Symbol.asyncDispose]: async () => {
      await fixture[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

test.each([0, 1])(
  'if the disk is full at write %i of a hand-out, the credential has a lease, or waits, or is removed',
  async (skip) => {
    await using stored = await startStored()
    const { fixture, faults } = stored
    await aPool(fixture, 'ci', 1)
    const [clientId = ''] = applications(fixture, 'ci')
    // no refill, which would write
    const refused = { kind: 'status', status: 400, code: 'Request_BadRequest', times: null } as const
    fixture.directory.fault({ ...refused, operation: 'createApplication' })
    await aRole(fixture, 'ci', { pool: 2 })
    await until(async () => (await poolsAt(fixture.root)).roles[0]?.error !== '')
    await until(async () => (await debris(fixture)).length === 0)

    faults.arm('storage.before-commit', 'full', skip)
    const { status } = await fixture.root.read('cloud/creds/ci')

    expect(status).toBeGreaterThanOrEqual(500)
    await cleared(fixture)
    const { idle } = await poolsAt(fixture.root)
    const leases = (await fixture.root.list('sys/leases/lookup/cloud/creds/ci')).status
    expect([leases, idle, kindsOf(fixture, clientId).length]).toEqual(skip === 0 ? [404, 1, 4] : [404, 0, 0])
  },
)

test('a restored pool is empty: its credentials may have been handed out since the backup', async () => {
  await using stored = await startStored()
  const { fixture, path, backup, settings } = stored
  await aPool(fixture, 'ci', 1)
  const given = { product_version: '1', cluster_id: 'c', created_time: 'now', seal_type: 'static' }
  await backUp(backup, { source: path, given })
  const { clientId } = await aCredential(fixture, 'ci')
  await fixture.server[Symbol.asyncDispose]()
  const note = restorationNote({ backup_time: 'then', restored_time: 'now', revoke_tokens: false })
  await restoreBackup({ backup, path, force: true, stamp: '1', noteOf: () => note })

  const { directory, clock } = fixture
  await using server = await startTestServer({
    clock,
    settings: { ...settings, BACKGROUND: 'off' },
    environment: {
      CLOUD_AUTHORITY_HOST: directory.authorityUrl,
      CLOUD_DIRECTORY_ENDPOINT: directory.directoryUrl,
      CLOUD_RESOURCE_MANAGER_ENDPOINT: directory.resourceManagerUrl,
      CLOUD_CA_FILE: directory.caFile,
    },
    cloudTimes: { pause: clock.pause },
  })

  expect(await poolsAt(server.root)).toMatchObject({ idle: 0, wanted: 1 })
  const { body } = await server.root.read('cloud/creds/ci')
  expect(body.data?.['client_id']).not.toBe(clientId)
  expect(body.warnings).toContainEqual(expect.stringMatching(/^made on demand/))
})
