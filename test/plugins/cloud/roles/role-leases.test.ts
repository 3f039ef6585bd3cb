import { beforeEach, describe, expect, test } from 'vitest'
import type { CloudFixture } from '../cloud-fixture.ts'
import { aCredential, aRole, living, status, works } from '../credential-steps.ts'
import { renewedFixture } from '../renewed-fixture.ts'

const renewed = renewedFixture()
let fixture: CloudFixture

beforeEach(() => {
  fixture = renewed()
})

const remove = (name: string, query = '') => fixture.root.delete(`cloud/roles/${name}${query}`)
const leases = async (name: string) =>
  (await fixture.root.list(`sys/leases/lookup/cloud/creds/${name}`)).status

describe('a role with live leases', () => {
  test('is deleted with a warning that counts them, and they stay valid', async () => {
    await aRole(fixture, 'ci')
    await aRole(fixture, 'other')
    const made = [await aCredential(fixture, 'ci'), await aCredential(fixture, 'cloud/creds/CI')]
    await aCredential(fixture, 'other')

    const answer = await remove('ci')

    expect(answer).toMatchObject({
      status: 200,
      body: {
        data: null,
        warnings: [expect.stringMatching(/^2 live leases of the role are left: .*\?revoke=true/)],
      },
    })
    expect(await Promise.all(made.map((credential) => works(fixture, credential)))).toEqual([true, true])
    expect(await remove('ci')).toMatchObject({ status: 204 })
  })

  test('has its own leases revoked by ?revoke=true, in any case of the path', async () => {
    const { id } = fixture.directory.admin.addApplication({ displayName: 'theirs' })
    await aRole(fixture, 'ci', { application_object_id: id })
    await aRole(fixture, 'ci-2', { application_object_id: id })
    const made = [await aCredential(fixture, 'ci'), await aCredential(fixture, 'cloud/creds/Ci')]
    const other = await aCredential(fixture, 'ci-2')

    expect(await remove('ci', '?revoke=true')).toMatchObject({ status: 204 })

    expect(await Promise.all([...made, other].map((credential) => works(fixture, credential)))).toEqual([
      false,
      false,
      true,
    ])
    expect([await leases('ci'), await leases('Ci'), await leases('ci-2')]).toEqual([404, 404, 200])
    expect((await fixture.root.read('cloud/roles/ci')).status).toBe(404)
  })

  test('stays if one of them cannot be revoked', async () => {
    await aRole(fixture, 'ci')
    await aCredential(fixture, 'ci')
    await aCredential(fixture, 'ci')
    fixture.directory.fault(status('deleteApplication', 400, { code: 'Request_BadRequest', message: 'no' }))

    expect(await remove('ci', '?revoke=true')).toMatchObject({
      status: 400,
      body: {
        errors: [
          expect.stringMatching(
            /^1 of 2 leases of the role could not be revoked, so it stays: failed to revoke entry: .*no/,
          ),
        ],
      },
    })
    expect((await fixture.root.read('cloud/roles/ci')).status).toBe(200)

    expect((await remove('ci', '?revoke=true')).status).toBe(204)
    expect(living(fixture)).toEqual([])
  })

  test('that was deleted earlier can still have its leases revoked', async () => {
    await aRole(fixture, 'ci')
    const credential = await aCredential(fixture, 'ci')
    await remove('ci')

    expect((await remove('ci', '?revoke=true')).status).toBe(204)

    expect([await works(fixture, credential), await leases('ci')]).toEqual([false, 404])
  })

  test('and a persisted application warns that their credentials ended with it', async () => {
    await aRole(fixture, 'kept', { persist_app: true })
    const credential = await aCredential(fixture, 'kept')

    const { status: code, body } = await remove('kept')

    expect([code, body['warnings']]).toEqual([
      200,
      ['1 live lease of the role is left, whose credentials ended with the application of the role'],
    ])
    expect(await works(fixture, credential)).toBe(false)
    expect((await remove('kept', '?revoke=true')).status).toBe(204)
    expect(await leases('kept')).toBe(404)
  })

  test('that has none left is deleted without a warning', async () => {
    await aRole(fixture, 'ci')
    const { lease } = await aCredential(fixture, 'ci')
    await fixture.root.write('sys/leases/revoke', { lease_id: lease })

    expect(await remove('ci')).toMatchObject({ status: 204, text: '' })
  })
})
