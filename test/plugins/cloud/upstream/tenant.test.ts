import { afterAll, beforeAll, expect, test } from 'vitest'
import { otherTenantReason } from '../../../../src/plugins/cloud/upstream/tenant.ts'
import { type CloudFixture, startCloudFixture } from '../cloud-fixture.ts'
import { aCredential, aRole, cleared, debris, kindsOf, revoke, until } from '../credential-steps.ts'

const [tenant, other] = ['0d8f4f0a-7a55-4c55-9c58-5a3f1d0f9b21', '1e9f5f1b-8b66-4d66-8d69-6b4f2e1fac32']

test.each([
  { made: tenant, now: other, isElsewhere: true },
  { made: tenant, now: tenant.toUpperCase(), isElsewhere: false },
  { made: undefined, now: other, isElsewhere: false },
  { made: 'contoso.onmicrosoft.com', now: other, isElsewhere: false },
  { made: tenant, now: 'contoso.onmicrosoft.com', isElsewhere: false },
])('created in $made, signed in to $now: in another tenant is $isElsewhere', ({ made, now, isElsewhere }) => {
  const environment = {
    name: 'public',
    authorityHost: '',
    directoryBase: '',
    directoryScope: '',
    resourceManagerBase: '',
    resourceManagerScope: '',
  } as const
  const credential = { type: 'root_creds', clientId: 'c', secret: 'x' } as const
  const settings = { subscriptionId: 's', tenantId: now, clientId: 'c', credential, environment }
  expect(otherTenantReason({ tenant_id: made }, { settings }) !== undefined).toBe(isElsewhere)
})

let fixture: CloudFixture

beforeAll(async () => {
  fixture = await startCloudFixture()
})
afterAll(() => fixture[Symbol.asyncDispose]())

const moveTo = (tenantId: string) =>
  fixture.root.write('cloud/config', {
    tenant_id: tenantId,
    client_secret: fixture.directory.rootClientSecret,
  })

test('a lease of another tenant stays until the mount signs in there again', async () => {
  const { id } = fixture.directory.admin.addApplication({ displayName: 'theirs' })
  await aRole(fixture, 'dynamic')
  await aRole(fixture, 'static', { application_object_id: id })
  const [dynamic, password] = [await aCredential(fixture, 'dynamic'), await aCredential(fixture, 'static')]
  await moveTo(other)
  fixture.directory.journal.clear()

  const refusal = `failed to revoke entry: error during revoke: it was made in tenant '${fixture.directory.tenantId}', and the mount signs in to '${other}'`
  for (const { lease } of [dynamic, password])
    expect(await revoke(fixture, lease)).toMatchObject({ status: 400, body: { errors: [refusal] } })
  expect(fixture.directory.journal.entries()).toEqual([])

  await moveTo(fixture.directory.tenantId)
  for (const { lease } of [dynamic, password])
    expect(await revoke(fixture, lease)).toMatchObject({ status: 204 })
  expect(kindsOf(fixture, dynamic.clientId)).toEqual([])
})

test('a role with an application of another tenant stays until the mount signs in there again', async () => {
  await aRole(fixture, 'kept', { persist_app: true })
  await moveTo(other)
  const refusal = `error deleting persisted app: it was made in tenant '${fixture.directory.tenantId}', and the mount signs in to '${other}'`
  expect(await fixture.root.delete('cloud/roles/kept')).toMatchObject({
    status: 400,
    body: { errors: [refusal] },
  })

  await moveTo(fixture.directory.tenantId)
  expect(await fixture.root.delete('cloud/roles/kept')).toMatchObject({ status: 204 })
})

test('debris in another tenant stays, with that reason', async () => {
  await aRole(fixture, 'failing')
  fixture.directory.fault({ kind: 'status', operation: 'createServicePrincipal', status: 403, times: null })
  fixture.directory.fault({ kind: 'status', operation: 'deleteApplication', status: 403, times: null })
  expect(await fixture.root.read('cloud/creds/failing')).toMatchObject({ status: 400 })
  await moveTo(other)
  const reason = `it was made in tenant '${fixture.directory.tenantId}', and the mount signs in to '${other}'`
  await until(async () => (await debris(fixture)).some(({ error }) => error?.toString() === reason))

  fixture.directory.clearFaults()
  await moveTo(fixture.directory.tenantId)
  await cleared(fixture)
})
