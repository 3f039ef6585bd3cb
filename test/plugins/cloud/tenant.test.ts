import { afterAll, beforeAll, expect, test } from 'vitest'
import { elsewhere } from '../../../src/plugins/cloud/tenant.ts'
import { type CloudHouse, startCloudHouse } from './cloud-house.ts'
import { aCredential, aRole, cleared, debris, kindsOf, revoke, until } from './credential-steps.ts'

const [tenant, other] = ['0d8f4f0a-7a55-4c55-9c58-5a3f1d0f9b21', '1e9f5f1b-8b66-4d66-8d69-6b4f2e1fac32']

test.each([
  { made: tenant, now: other, isElsewhere: true },
  { made: tenant, now: tenant.toUpperCase(), isElsewhere: false },
  { made: undefined, now: other, isElsewhere: false },
  { made: 'contoso.onmicrosoft.com', now: other, isElsewhere: false },
  { made: tenant, now: 'contoso.onmicrosoft.com', isElsewhere: false },
])('made in $made, signed in to $now: elsewhere? $isElsewhere', ({ made, now, isElsewhere }) => {
  const environment = {
    name: 'public',
    authorityHost: '',
    directoryBase: '',
    directoryScope: '',
    resourceManagerBase: '',
    resourceManagerScope: '',
  } as const
  const settings = { subscriptionId: 's', tenantId: now, clientId: 'c', clientSecret: 'x', environment }
  expect(elsewhere({ tenant_id: made }, { settings }) !== undefined).toBe(isElsewhere)
})

let house: CloudHouse

beforeAll(async () => {
  house = await startCloudHouse()
})
afterAll(() => house[Symbol.asyncDispose]())

const moveTo = (tenantId: string) => house.root.write('cloud/config', { tenant_id: tenantId, client_secret: house.directory.rootClientSecret })

test('a lease of another tenant stays until the mount signs in there again', async () => {
  const { id } = house.directory.hand.addApplication({ displayName: 'theirs' })
  await aRole(house, 'dynamic')
  await aRole(house, 'static', { application_object_id: id })
  const [dynamic, password] = [await aCredential(house, 'dynamic'), await aCredential(house, 'static')]
  await moveTo(other)
  house.directory.journal.clear()

  const refusal = `failed to revoke entry: error during revoke: it was made in tenant '${house.directory.tenantId}', and the mount signs in to '${other}'`
  for (const { lease } of [dynamic, password]) expect(await revoke(house, lease)).toMatchObject({ status: 400, body: { errors: [refusal] } })
  expect(house.directory.journal.entries()).toEqual([])

  await moveTo(house.directory.tenantId)
  for (const { lease } of [dynamic, password]) expect(await revoke(house, lease)).toMatchObject({ status: 204 })
  expect(kindsOf(house, dynamic.clientId)).toEqual([])
})

test('a role keeps an application of another tenant until the mount signs in there again', async () => {
  await aRole(house, 'kept', { persist_app: true })
  await moveTo(other)
  const refusal = `error deleting persisted app: it was made in tenant '${house.directory.tenantId}', and the mount signs in to '${other}'`
  expect(await house.root.delete('cloud/roles/kept')).toMatchObject({ status: 400, body: { errors: [refusal] } })

  await moveTo(house.directory.tenantId)
  expect(await house.root.delete('cloud/roles/kept')).toMatchObject({ status: 204 })
})

test('what is left over in another tenant is left, and said to be', async () => {
  await aRole(house, 'failing')
  house.directory.fault({ kind: 'status', operation: 'createServicePrincipal', status: 403, times: null })
  house.directory.fault({ kind: 'status', operation: 'deleteApplication', status: 403, times: null })
  expect(await house.root.read('cloud/creds/failing')).toMatchObject({ status: 400 })
  await moveTo(other)
  const reason = `it was made in tenant '${house.directory.tenantId}', and the mount signs in to '${other}'`
  await until(async () => (await debris(house)).some(({ error }) => error?.toString() === reason))

  house.directory.clearFaults()
  await moveTo(house.directory.tenantId)
  await cleared(house)
})
