import { expect, test } from 'vitest'
import { StorageFaults } from '../../../../src/storage/faults.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { startCloudFixture } from '../cloud-fixture.ts'
import { aCredential, aRole, cleared, kindsOf, living, revoke } from '../credential-steps.ts'

/** A fixture with a database file that can be made to fail. */
async function startFailingFixture() {
  const folder = await temporaryFolder()
  const faults = new StorageFaults()
  const settings = {
    STORAGE: `sqlite:${folder.file('gatehouse.db')}`,
    SEAL_KEY_FILE: folder.file('seal.key'),
  }
  const fixture = await startCloudFixture({ faults, settings })
  return {
    fixture,
    faults,
    [Symbol.asyncDispose]: async () => {
      await fixture[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

test.each([0, 1, 2, 3])(
  'if the disk is full at write %i, a credential is either returned and exists, or is refused and removed',
  async (skip) => {
    await using failing = await startFailingFixture()
    const { fixture, faults } = failing
    await aRole(fixture, 'ci')

    faults.arm('storage.before-commit', 'full', skip)
    const { status, body } = await fixture.root.read('cloud/creds/ci')

    await cleared(fixture)
    const leases = (await fixture.root.list('sys/leases/lookup/cloud/creds/ci')).status
    if (status === 200) {
      expect(kindsOf(fixture, String(body.data?.client_id))).toEqual([
        'application',
        'password',
        'role-assignment',
        'service-principal',
      ])
      expect(leases).toBe(200)
    } else {
      expect(status).toBeGreaterThanOrEqual(500)
      expect([living(fixture), leases]).toEqual([[], 404])
    }
  },
)

test('a password whose lease cannot be stored is removed', async () => {
  await using failing = await startFailingFixture()
  const { fixture, faults } = failing
  const { id, appId } = fixture.directory.admin.addApplication({ displayName: 'theirs' })
  await aRole(fixture, 'static', { application_object_id: id })

  // the writes: its intent, its key id, its lease
  faults.arm('storage.before-commit', 'full', 2)
  const { status } = await fixture.root.read('cloud/creds/static')

  expect(status).toBe(500)
  await cleared(fixture)
  expect(kindsOf(fixture, appId)).toEqual([])
})

test.each(['dynamic', 'static'])(
  'a lease that is stored although its write failed is revoked together with its credential: %s',
  async (name) => {
    await using failing = await startFailingFixture()
    const { fixture, faults } = failing
    const { id } = fixture.directory.admin.addApplication({ displayName: 'theirs' })
    await aRole(fixture, name, name === 'static' ? { application_object_id: id } : {})

    // the writes: the intents, the ids, the lease
    faults.arm('storage.after-commit', 'io', 2)
    expect((await fixture.root.read(`cloud/creds/${name}`)).status).toBe(500)

    await cleared(fixture)
    expect((await fixture.root.list(`sys/leases/lookup/cloud/creds/${name}`)).status).toBe(404)
    expect(
      fixture.directory.inventory().filter(({ kind, deleted }) => kind === 'password' && !deleted),
    ).toEqual([])
  },
)

test.each([0, 1])(
  'a revocation is repeated until its result can be stored (failed write %i)',
  async (skip) => {
    await using failing = await startFailingFixture()
    const { fixture, faults } = failing
    await aRole(fixture, 'ci')
    const { lease } = await aCredential(fixture, 'ci')

    faults.arm('storage.before-commit', 'full', skip)
    expect((await revoke(fixture, lease)).status).toBeGreaterThanOrEqual(400)

    expect((await revoke(fixture, lease)).status).toBe(204)
    fixture.clock.advance(700)
    await cleared(fixture)
    expect(living(fixture)).toEqual([])
  },
)
