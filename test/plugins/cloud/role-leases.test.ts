import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CloudHouse, startCloudHouse } from './cloud-house.ts'
import { aCredential, aRole, living, status, works } from './credential-steps.ts'

let house: CloudHouse

beforeEach(async () => {
  house = await startCloudHouse()
})
afterEach(() => house[Symbol.asyncDispose]())

const remove = (name: string, query = '') => house.root.delete(`cloud/roles/${name}${query}`)
const leases = async (name: string) => (await house.root.list(`sys/leases/lookup/cloud/creds/${name}`)).status

describe('a role with live leases', () => {
  test('is deleted with a warning that counts them, and they stay valid', async () => {
    await aRole(house, 'ci')
    await aRole(house, 'other')
    const made = [await aCredential(house, 'ci'), await aCredential(house, 'cloud/creds/CI')]
    await aCredential(house, 'other')

    const answer = await remove('ci')

    expect(answer).toMatchObject({
      status: 200,
      body: { data: null, warnings: [expect.stringMatching(/^2 live leases of the role are left: .*\?revoke=true/)] },
    })
    expect(await Promise.all(made.map((credential) => works(house, credential)))).toEqual([true, true])
    expect(await remove('ci')).toMatchObject({ status: 204 })
  })

  test('has them revoked by ?revoke=true, however the path was typed, and no others', async () => {
    const { id } = house.directory.hand.addApplication({ displayName: 'theirs' })
    await aRole(house, 'ci', { application_object_id: id })
    await aRole(house, 'ci-2', { application_object_id: id })
    const made = [await aCredential(house, 'ci'), await aCredential(house, 'cloud/creds/Ci')]
    const other = await aCredential(house, 'ci-2')

    expect(await remove('ci', '?revoke=true')).toMatchObject({ status: 204 })

    expect(await Promise.all([...made, other].map((credential) => works(house, credential)))).toEqual([false, false, true])
    expect([await leases('ci'), await leases('Ci'), await leases('ci-2')]).toEqual([404, 404, 200])
    expect((await house.root.read('cloud/roles/ci')).status).toBe(404)
  })

  test('stays when one of them cannot be revoked', async () => {
    await aRole(house, 'ci')
    await aCredential(house, 'ci')
    await aCredential(house, 'ci')
    house.directory.fault(status('deleteApplication', 400, { code: 'Request_BadRequest', message: 'no' }))

    expect(await remove('ci', '?revoke=true')).toMatchObject({
      status: 400,
      body: { errors: [expect.stringMatching(/^1 of 2 leases of the role could not be revoked, so it stays: failed to revoke entry: .*no/)] },
    })
    expect((await house.root.read('cloud/roles/ci')).status).toBe(200)

    expect((await remove('ci', '?revoke=true')).status).toBe(204)
    expect(living(house)).toEqual([])
  })

  test('that was deleted earlier can still have them revoked', async () => {
    await aRole(house, 'ci')
    const credential = await aCredential(house, 'ci')
    await remove('ci')

    expect((await remove('ci', '?revoke=true')).status).toBe(204)

    expect([await works(house, credential), await leases('ci')]).toEqual([false, 404])
  })

  test('and an application of its own ends their credentials with that, and says so', async () => {
    await aRole(house, 'kept', { persist_app: true })
    const credential = await aCredential(house, 'kept')

    const { status: code, body } = await remove('kept')

    expect([code, body['warnings']]).toEqual([200, ['1 live lease of the role is left, whose credentials ended with the application of the role']])
    expect(await works(house, credential)).toBe(false)
    expect((await remove('kept', '?revoke=true')).status).toBe(204)
    expect(await leases('kept')).toBe(404)
  })

  test('that has none left is deleted without a warning', async () => {
    await aRole(house, 'ci')
    const { lease } = await aCredential(house, 'ci')
    await house.root.write('sys/leases/revoke', { lease_id: lease })

    expect(await remove('ci')).toMatchObject({ status: 204, text: '' })
  })
})
