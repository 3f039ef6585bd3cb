import { beforeEach, expect, test } from 'vitest'
import type { CloudFixture } from '../cloud-fixture.ts'
import { aCredential, aRole, cleared, kindsOf, living, revoke, status, works } from '../credential-steps.ts'
import { renewedFixture } from '../renewed-fixture.ts'
import { aPool, applications, creations, filled, poolsAt, startPoolFixture } from './pool-steps.ts'

const renewed = renewedFixture(startPoolFixture)
let fixture: CloudFixture
beforeEach(() => {
  fixture = renewed()
})

const hour = 3600

test('a credential of the pool works, was made before, and its lease begins when it is handed out', async () => {
  await aPool(fixture, 'ci', 1, { ttl: '1h' })
  const [made] = applications(fixture, 'ci')
  fixture.clock.advance(2 * hour)
  fixture.directory.fault({ ...status('createApplication', 503), times: null })

  const credential = await aCredential(fixture, 'ci')

  expect(credential).toMatchObject({ clientId: made, duration: hour, warnings: null })
  expect(await works(fixture, credential)).toBe(true)
  const lease = await fixture.root.write('sys/leases/lookup', { lease_id: credential.lease })
  expect(Date.parse(String(lease.body.data?.expire_time))).toBe(fixture.clock.now() + hour * 1000)
})

test('a credential of the pool has been accepted by every replica of the login service', async () => {
  fixture.directory.change({ delaySeconds: { secretToToken: 9, applicationToToken: 5 }, replicas: 3 })
  await aPool(fixture, 'ci', 1)

  const credential = await aCredential(fixture, 'ci')

  const signIns = await Promise.all(Array.from({ length: 6 }, () => works(fixture, credential)))
  expect(signIns).toEqual(Array.from({ length: 6 }, () => true))
})

test('with wait=ready, a credential of the pool says that it needed no time', async () => {
  await aPool(fixture, 'ci', 1)

  const { body } = await fixture.root.read('cloud/creds/ci?wait=ready')

  expect(body.warnings).toEqual(['credentials were ready after 0 s'])
})

test('when the pool is empty, a credential is made on demand once it works, and the warning says how long that took', async () => {
  fixture.directory.change({ delaySeconds: { secretToToken: 12 } })
  fixture.directory.fault({ ...status('createApplication', 400, { code: 'Request_BadRequest' }), times: 1 })
  await aRole(fixture, 'ci', { pool: 1 })
  await expect.poll(async () => (await poolsAt(fixture.root)).roles[0]?.error).not.toBe('')

  const credential = await aCredential(fixture, 'ci')

  expect(credential.warnings).toEqual([
    expect.stringMatching(/^made on demand, 1\d\.\d s$/),
    expect.stringMatching(/^credentials were ready after 1\d s$/),
  ])
  expect(await works(fixture, credential)).toBe(true)
})

test('a role without a pool gives no such warning', async () => {
  await aRole(fixture, 'ci')

  expect((await aCredential(fixture, 'ci')).warnings).toBeNull()
  expect(await poolsAt(fixture.root)).toEqual({ idle: 0, wanted: 0, roles: [] })
})

test('a certificate is made ahead with its key', async () => {
  await aPool(fixture, 'cert', 1, { credential_type: 'certificate' })
  const [made] = applications(fixture, 'cert')

  const { body } = await fixture.root.read('cloud/creds/cert')

  expect(body.data).toMatchObject({
    client_id: made,
    certificate: expect.stringContaining('BEGIN CERTIFICATE'),
    private_key: expect.stringContaining('PRIVATE KEY'),
  })
})

test('passwords of an application are made ahead too, and go with their leases', async () => {
  const { id, appId } = fixture.directory.admin.addApplication({ displayName: 'shared' })
  const passwords = () => kindsOf(fixture, appId).filter((kind) => kind === 'password').length
  await aPool(fixture, 'shared', 2, { application_object_id: id })
  expect(passwords()).toBe(2)

  const credential = await aCredential(fixture, 'shared')

  expect(await works(fixture, credential)).toBe(true)
  await filled(fixture.root, 'shared', 2)
  expect(passwords()).toBe(3)
  expect((await revoke(fixture, credential.lease)).status).toBe(204)
  await expect.poll(passwords).toBe(2)
})

test('of many requests at once, no two get the same credential, and the pool gives all it has', async () => {
  await aPool(fixture, 'ci', 6)
  const ahead = new Set(applications(fixture, 'ci'))

  const given = await Promise.all(Array.from({ length: 9 }, () => aCredential(fixture, 'ci')))

  const ids = given.map(({ clientId }) => clientId)
  expect(new Set(ids).size).toBe(9)
  expect(ids.filter((id) => ahead.has(id))).toHaveLength(6)
})

test('the end of its lease removes a credential of the pool with all it has', async () => {
  await aPool(fixture, 'ci', 1, { cloud_groups: '[{"group_name":"foo"}]' })
  const { lease } = await aCredential(fixture, 'ci')
  await aRole(fixture, 'ci', { pool: 0 })
  await filled(fixture.root, 'ci', 0)

  expect((await revoke(fixture, lease)).status).toBe(204)

  await cleared(fixture)
  expect(living(fixture)).toEqual([])
})

test('whois tells who got a credential of the pool', async () => {
  await aPool(fixture, 'ci', 1)
  const { clientId, lease } = await aCredential(fixture, 'ci')

  const { body } = await fixture.root.read(`cloud/whois/${clientId}`)

  expect(body.data).toMatchObject({ lease_id: lease, role: 'ci', display_name: 'token' })
})

test('the pool is filled again after a credential was handed out', async () => {
  await aPool(fixture, 'ci', 2)
  const before = creations(fixture)

  await aCredential(fixture, 'ci')

  await filled(fixture.root, 'ci', 2)
  expect(creations(fixture)).toBe(before + 1)
})
