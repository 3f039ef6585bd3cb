import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type CloudHouse, guids, startCloudHouse } from './cloud-house.ts'
import { aCredential, aRole, cleared, debris, kindsOf, reader, renew, revoke, works } from './credential-steps.ts'

let house: CloudHouse

beforeAll(async () => {
  house = await startCloudHouse()
})
afterAll(() => house[Symbol.asyncDispose]())

let count = 0
const newName = () => `c${++count}`
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const everything = ['application', 'password', 'role-assignment', 'service-principal']

describe('dynamic credentials', () => {
  test('a role with two Cloud roles issues a working service principal, and nothing else', async () => {
    const name = newName()
    await aRole(house, name, { cloud_roles: reader(house, 'web', 'data'), tags: 'team:a, team:b' })

    const answer = await house.root.read(`cloud/creds/${name}`)

    expect(answer).toMatchObject({ status: 200, body: { renewable: true, lease_duration: 2764800, warnings: null } })
    expect(Object.keys(answer.body.data ?? {}).sort()).toEqual(['client_id', 'client_secret'])
    const [clientId, secret] = [String(answer.body.data?.client_id), String(answer.body.data?.client_secret)]
    expect(clientId).toMatch(uuid)
    expect(String(answer.body.lease_id)).toMatch(new RegExp(`^cloud/creds/${name}/[0-9A-Za-z]{24}$`))
    expect(kindsOf(house, clientId)).toEqual([...everything, 'role-assignment'].sort())
    expect(await works(house, { clientId, secret })).toBe(true)
    const application = house.directory.inventory().find((thing) => thing.kind === 'application' && thing.clientId === clientId)
    expect(application?.name).toMatch(new RegExp(`^gatehouse-${name}-[0-9a-f-]{36}$`))
    expect(application?.tags?.slice(0, 2)).toEqual(['team:a', 'team:b'])
    expect(application?.tags?.at(-1)).toMatch(new RegExp(`^gatehouse:cloud_[0-9a-f]{8}:${String(answer.body.request_id)}$`))
  })

  test('groups alone are enough', async () => {
    const name = newName()
    await aRole(house, name, { cloud_roles: '[]', cloud_groups: '[{"group_name":"foo"},{"group_name":"bar"}]' })

    const credential = await aCredential(house, name)

    expect(kindsOf(house, credential.clientId)).toEqual(['application', 'group-member', 'group-member', 'password', 'service-principal'])
    expect(await works(house, credential)).toBe(true)
  })

  test('a mount of type azure issues credentials too', async () => {
    await aRole(house, 'theirs', {}, 'azure')

    const credential = await aCredential(house, 'azure/creds/theirs')

    expect(credential.lease).toMatch(/^azure\/creds\/theirs\//)
    expect(kindsOf(house, credential.clientId)).toEqual(everything)
    expect(await revoke(house, credential.lease)).toMatchObject({ status: 204 })
    expect(kindsOf(house, credential.clientId)).toEqual([])
  })

  test('the name of a role is lower-cased, and the lease has the path as typed', async () => {
    const name = newName()
    await aRole(house, name)

    expect((await aCredential(house, name.toUpperCase())).lease).toMatch(new RegExp(`^cloud/creds/${name.toUpperCase()}/`))
  })

  test('an unknown role is refused', async () => {
    expect(await house.root.read('cloud/creds/nobody')).toMatchObject({ status: 400, body: { errors: ["role 'nobody' does not exist"] } })
  })
})

/** What kind of role, and what else it has. */
const forms = [
  { form: 'dynamic', body: async () => ({}) },
  { form: 'static', body: async () => ({ application_object_id: house.directory.hand.addApplication({ displayName: 'theirs' }).id }) },
  { form: 'persisted', body: async () => ({ persist_app: true }) },
]

describe.each(forms)('lifetimes of a $form role', ({ body }) => {
  test('lifetimes come from the role, within its explicit maximum', async () => {
    const name = newName()
    const base = await body()
    await aRole(house, name, base)
    const system = 2_764_800
    expect((await aCredential(house, name)).duration).toBe(system)

    await aRole(house, name, { ...base, ttl: 20, max_ttl: 30 })
    const second = await aCredential(house, name)
    expect(second.duration).toBe(20)
    house.clock.advance(15)
    expect(await renew(house, second.lease, 60)).toMatchObject({ status: 200, body: { lease_duration: 15 } })

    await aRole(house, name, { ...base, ttl: 20, max_ttl: 0, explicit_max_ttl: 60 })
    const third = await aCredential(house, name)
    expect(third.duration).toBe(20)
    house.clock.advance(10)
    expect(await renew(house, third.lease, 100)).toMatchObject({ status: 200, body: { lease_duration: 50 } })
  })

  test('the explicit limit caps a lease that has no TTL of its own, and no renewal passes the end of the secret', async () => {
    const name = newName()
    await aRole(house, name, { ...(await body()), explicit_max_ttl: 60 })

    const { lease, duration, warnings } = await aCredential(house, name)

    expect(duration).toBe(60)
    expect(warnings).toEqual(['TTL of "768h" exceeded the effective max_ttl of "1m"; TTL value is capped accordingly'])
    house.clock.advance(30)
    expect(await renew(house, lease, 3600)).toMatchObject({ status: 200, body: { lease_duration: 30 } })
    house.clock.advance(29)
    expect(await renew(house, lease, 3600)).toMatchObject({ status: 200, body: { lease_duration: 1 } })
  })
})

describe('passwords of an application', () => {
  test('a credential is a password of its own that is deleted with its lease, and the application stays', async () => {
    const { id, appId } = house.directory.hand.addApplication({ displayName: 'theirs' })
    const name = newName()
    await aRole(house, name, { application_object_id: id })

    const credential = await aCredential(house, name)

    expect(credential.clientId).toBe(appId)
    expect(await works(house, credential)).toBe(true)
    expect(kindsOf(house, appId)).toEqual(['password'])
    expect(await revoke(house, credential.lease)).toMatchObject({ status: 204 })
    expect(kindsOf(house, appId)).toEqual([])
    expect(await works(house, credential)).toBe(false)
  })

  test('a managed application keeps its client id over many credentials', async () => {
    const name = newName()
    await aRole(house, name, { persist_app: true })

    const [first, second] = [await aCredential(house, name), await aCredential(house, name)]

    expect(first.clientId).toBe(second.clientId)
    expect([await works(house, first), await works(house, second)]).toEqual([true, true])
    await revoke(house, first.lease)
    expect([await works(house, first), await works(house, second)]).toEqual([false, true])
  })

  test('two concurrent credentials both work', async () => {
    const { id } = house.directory.hand.addApplication({ displayName: 'theirs' })
    house.directory.change({ strictConcurrency: true })
    const name = newName()
    await aRole(house, name, { application_object_id: id })

    const both = await Promise.all([aCredential(house, name), aCredential(house, name)])

    house.directory.change({ strictConcurrency: false })
    expect(await Promise.all(both.map((one) => works(house, one)))).toEqual([true, true])
  })

  test('the third secret of an application for personal accounts is refused with a clear error', async () => {
    const { id } = house.directory.hand.addApplication({ displayName: 'theirs', signInAudience: 'PersonalMicrosoftAccount' })
    const name = newName()
    await aRole(house, name, { application_object_id: id })
    await aCredential(house, name)
    await aCredential(house, name)

    expect(await house.root.read(`cloud/creds/${name}`)).toMatchObject({
      status: 400,
      body: { errors: ['error updating credentials: maximum number of Application passwords reached'] },
    })
    expect(await debris(house)).toEqual([])
  })

  test('passwords of the engine that have ended make room for a new one', async () => {
    const { id } = house.directory.hand.addApplication({ displayName: 'theirs', signInAudience: 'PersonalMicrosoftAccount' })
    house.directory.hand.addPassword(id, { displayName: 'gatehouse-old-1', lifetimeSeconds: -60 })
    house.directory.hand.addPassword(id, { displayName: 'somebody else’s', lifetimeSeconds: -60 })
    const name = newName()
    await aRole(house, name, { application_object_id: id })

    expect(await works(house, await aCredential(house, name))).toBe(true)
  })

  test('the application of the engine is never a target, whatever is stored', async () => {
    const name = newName()
    const { id, appId } = house.directory.hand.addApplication({ displayName: 'theirs' })
    await aRole(house, name, { application_object_id: id })
    await house.root.write('cloud/config', { client_id: appId })

    const answer = await house.root.read(`cloud/creds/${name}`)

    await house.root.write('cloud/config', house.config())
    expect(answer).toMatchObject({
      status: 400,
      body: { errors: ['application_object_id must not refer to the application used by this engine'] },
    })
  })
})

describe('revocation', () => {
  test('a revocation soft-deletes the application and removes its rights', async () => {
    const name = newName()
    await aRole(house, name, { cloud_groups: '[{"group_name":"foo"}]' })
    const credential = await aCredential(house, name)

    expect(await revoke(house, credential.lease)).toMatchObject({ status: 204 })

    expect(kindsOf(house, credential.clientId)).toEqual([])
    expect(kindsOf(house, credential.clientId, { deleted: true })).toContain('application')
    expect(await works(house, credential)).toBe(false)
    expect(await debris(house)).toEqual([])
  })

  test('with permanently_delete nothing is left, not even among the deleted objects', async () => {
    const name = newName()
    await aRole(house, name, { permanently_delete: true })
    const { clientId, lease } = await aCredential(house, name)

    expect(await revoke(house, lease)).toMatchObject({ status: 204 })

    expect([...kindsOf(house, clientId), ...kindsOf(house, clientId, { deleted: true })]).toEqual([])
  })

  test('a credential of groups only can be revoked', async () => {
    const name = newName()
    await aRole(house, name, { cloud_roles: '[]', cloud_groups: '[{"group_name":"foo"}]' })
    const { clientId, lease } = await aCredential(house, name)

    expect(await revoke(house, lease)).toMatchObject({ status: 204 })
    expect(kindsOf(house, clientId)).toEqual([])
  })

  test.each([
    { status: 400, code: 'SomethingElse' },
    { status: 204, code: undefined },
    { status: 404, code: 'RoleAssignmentNotFound' },
  ])('a deletion of an assignment that answers $status does not stop it', async ({ status, code }) => {
    const name = newName()
    await aRole(house, name)
    const { clientId, lease } = await aCredential(house, name)
    house.directory.fault({ kind: 'status', operation: 'deleteRoleAssignment', status, ...(code === undefined ? {} : { code }) })

    expect(await revoke(house, lease)).toMatchObject({ status: 204 })
    expect(kindsOf(house, clientId)).not.toContain('application')
  })

  test('an assignment that could not be removed is debris until it is removed', async () => {
    const name = newName()
    await aRole(house, name, { cloud_roles: reader(house, 'web', 'data') })
    const { clientId, lease } = await aCredential(house, name)
    const assignments = house.directory.inventory().filter((thing) => thing.kind === 'role-assignment' && thing.clientId === clientId)
    house.directory.fault({ kind: 'status', operation: 'deleteRoleAssignment', status: 403, code: 'AuthorizationFailed', times: null })

    expect(await revoke(house, lease)).toMatchObject({ status: 204 })

    const left = (await debris(house)).map(({ kind, id }) => ({ kind, id: String(id).toLowerCase() }))
    expect(left).toEqual(expect.arrayContaining(assignments.map(({ id }) => ({ kind: 'roleAssignments', id: id.toLowerCase() }))))
    house.directory.clearFaults()
    await cleared(house)
    expect(house.directory.inventory().filter((thing) => thing.clientId === clientId && thing.kind === 'role-assignment')).toEqual([])
  })

  test('an assignment that was removed by hand does not matter', async () => {
    const name = newName()
    await aRole(house, name, { cloud_roles: reader(house, 'web', 'data'), cloud_groups: '[{"group_name":"bar"}]' })
    const { clientId, lease } = await aCredential(house, name)
    const [assignment] = house.directory.inventory().filter((thing) => thing.kind === 'role-assignment' && thing.clientId === clientId)
    house.directory.hand.remove(assignment?.id ?? '')

    expect(await revoke(house, lease)).toMatchObject({ status: 204 })
    expect(kindsOf(house, clientId)).toEqual([])
  })

  test.each([{ forGood: false }, { forGood: true }])(
    'an application that was deleted by hand does not stop it (permanently_delete $forGood)',
    async ({ forGood }) => {
      const name = newName()
      await aRole(house, name, { permanently_delete: forGood })
      const { clientId, lease } = await aCredential(house, name)
      const application = house.directory.inventory().find((thing) => thing.kind === 'application' && thing.clientId === clientId)
      house.clock.advance(3600)
      house.directory.hand.remove(application?.id ?? '')

      expect(await revoke(house, lease)).toMatchObject({ status: 204 })

      await cleared(house)
      expect(kindsOf(house, clientId)).toEqual([])
      expect(kindsOf(house, clientId, { deleted: true }).includes('application')).toBe(!forGood)
    },
  )

  test('a new application that a part of the directory does not know yet is looked for again', async () => {
    const name = newName()
    await aRole(house, name)
    const { clientId, lease } = await aCredential(house, name)
    house.directory.fault({ kind: 'status', operation: 'deleteApplication', status: 404, code: 'Request_ResourceNotFound' })

    expect(await revoke(house, lease)).toMatchObject({ status: 204 })

    await cleared(house)
    expect(kindsOf(house, clientId)).toEqual([])
  })

  test('a password of an application that a part of the directory does not know yet is looked for again', async () => {
    const { id, appId } = house.directory.hand.addApplication({ displayName: 'theirs' })
    const name = newName()
    await aRole(house, name, { application_object_id: id })
    const { lease } = await aCredential(house, name)
    house.directory.fault({ kind: 'status', operation: 'removeApplicationPassword', status: 404, code: 'Request_ResourceNotFound' })

    expect(await revoke(house, lease)).toMatchObject({ status: 204 })

    await cleared(house)
    expect(kindsOf(house, appId)).toEqual([])
  })

  test.each(['slow', 'lost'] as const)('what turns up among the deleted late is purged all the same, also when an answer was %s', async (kind) => {
    const name = newName()
    await aRole(house, name, { permanently_delete: true })
    const { clientId, lease } = await aCredential(house, name)
    house.directory.change({ delaySeconds: { deletedToBin: 20 } })
    house.directory.fault(kind === 'lost' ? { kind, operation: 'deleteServicePrincipal' } : { kind, delayMs: 1, operation: 'deleteServicePrincipal' })

    expect(await revoke(house, lease)).toMatchObject({ status: 204 })

    expect(await debris(house)).toEqual([])
    house.directory.change({ delaySeconds: { deletedToBin: 0 } })
    expect(kindsOf(house, clientId, { deleted: true })).toEqual([])
  })

  test('what turns up later than a revocation waits is purged in the background', async () => {
    const name = newName()
    await aRole(house, name, { permanently_delete: true })
    const { clientId, lease } = await aCredential(house, name)
    house.directory.change({ delaySeconds: { deletedToBin: 3600 } })

    expect(await revoke(house, lease)).toMatchObject({ status: 204 })
    // the application and its service principal
    expect(await debris(house)).toMatchObject([{ kind: 'purge' }, { kind: 'purge' }])

    house.directory.change({ delaySeconds: { deletedToBin: 0 } })
    await cleared(house)
    expect(kindsOf(house, clientId, { deleted: true })).toEqual([])
  })

  test('without a configuration a lease can be renewed and not revoked', async () => {
    const name = newName()
    await aRole(house, name, { ttl: 600 })
    const { lease } = await aCredential(house, name)
    await house.root.delete('cloud/config')

    const [renewal, revocation] = [await renew(house, lease), await revoke(house, lease)]
    await house.root.write('cloud/config', house.config())

    expect(renewal).toMatchObject({ status: 200, body: { lease_duration: 600 } })
    expect(revocation).toMatchObject({ status: 400, body: { errors: ['failed to revoke entry: error during revoke: subscription_id is required'] } })
    expect(await revoke(house, lease)).toMatchObject({ status: 204 })
  })
})

describe('renewal', () => {
  test('renewal follows the current role, and is a no-op after the role was deleted', async () => {
    const name = newName()
    await aRole(house, name, { ttl: 100, max_ttl: 1000 })
    const { lease } = await aCredential(house, name)
    await aRole(house, name, { ttl: 200 })
    expect(await renew(house, lease)).toMatchObject({ status: 200, body: { lease_duration: 200, data: null } })

    await house.root.delete(`cloud/roles/${name}`)

    expect(await renew(house, lease)).toMatchObject({ status: 204, text: '' })
    expect(await revoke(house, lease)).toMatchObject({ status: 204 })
  })

  test('renewal makes no call upstream', async () => {
    const name = newName()
    await aRole(house, name, { ttl: 100 })
    const { lease } = await aCredential(house, name)
    const before = house.directory.journal.entries().length

    await renew(house, lease)

    expect(house.directory.journal.entries()).toHaveLength(before)
  })
})

test('each Cloud role of a role becomes an assignment of its definition', async () => {
  const name = newName()
  const roles = [
    { role_name: 'Storage Blob Data Owner', scope: house.scope('web') },
    { role_id: house.definition(guids.reader), scope: house.scope('web') },
  ]
  await aRole(house, name, { cloud_roles: JSON.stringify(roles) })

  const { clientId } = await aCredential(house, name)

  const names = house.directory.inventory().flatMap((thing) => (thing.kind === 'role-assignment' && thing.clientId === clientId ? [thing.name] : []))
  expect(names.sort()).toEqual(['Reader', 'Storage Blob Data Owner'])
})
