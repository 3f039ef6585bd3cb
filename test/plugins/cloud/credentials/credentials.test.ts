import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type CloudFixture, guids, startCloudFixture } from '../cloud-fixture.ts'
import {
  aCredential,
  aRole,
  cleared,
  debris,
  kindsOf,
  reader,
  renew,
  revoke,
  works,
} from '../credential-steps.ts'

let fixture: CloudFixture

beforeAll(async () => {
  fixture = await startCloudFixture()
})
afterAll(() => fixture[Symbol.asyncDispose]())

let count = 0
const newName = () => `c${++count}`
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const everything = ['application', 'password', 'role-assignment', 'service-principal']

describe('dynamic credentials', () => {
  test('a role with two Cloud roles issues a working service principal, and nothing else', async () => {
    const name = newName()
    await aRole(fixture, name, { cloud_roles: reader(fixture, 'web', 'data'), tags: 'team:a, team:b' })

    const answer = await fixture.root.read(`cloud/creds/${name}`)

    expect(answer).toMatchObject({
      status: 200,
      body: { renewable: true, lease_duration: 2764800, warnings: null },
    })
    expect(Object.keys(answer.body.data ?? {}).sort()).toEqual(['client_id', 'client_secret'])
    const [clientId, secret] = [String(answer.body.data?.client_id), String(answer.body.data?.client_secret)]
    expect(clientId).toMatch(uuid)
    expect(String(answer.body.lease_id)).toMatch(new RegExp(`^cloud/creds/${name}/[0-9A-Za-z]{24}$`))
    expect(kindsOf(fixture, clientId)).toEqual([...everything, 'role-assignment'].sort())
    expect(await works(fixture, { clientId, secret })).toBe(true)
    const application = fixture.directory
      .inventory()
      .find((thing) => thing.kind === 'application' && thing.clientId === clientId)
    expect(application?.name).toMatch(new RegExp(`^gatehouse-${name}-[0-9a-f-]{36}$`))
    expect(application?.tags?.slice(0, 2)).toEqual(['team:a', 'team:b'])
    expect(application?.tags?.at(-1)).toMatch(
      new RegExp(`^gatehouse:cloud_[0-9a-f]{8}:${String(answer.body.request_id)}$`),
    )
  })

  test('a role with groups only issues credentials', async () => {
    const name = newName()
    await aRole(fixture, name, {
      cloud_roles: '[]',
      cloud_groups: '[{"group_name":"foo"},{"group_name":"bar"}]',
    })

    const credential = await aCredential(fixture, name)

    expect(kindsOf(fixture, credential.clientId)).toEqual([
      'application',
      'group-member',
      'group-member',
      'password',
      'service-principal',
    ])
    expect(await works(fixture, credential)).toBe(true)
  })

  test('a mount of type azure issues credentials as well', async () => {
    await aRole(fixture, 'theirs', {}, 'azure')

    const credential = await aCredential(fixture, 'azure/creds/theirs')

    expect(credential.lease).toMatch(/^azure\/creds\/theirs\//)
    expect(kindsOf(fixture, credential.clientId)).toEqual(everything)
    expect(await revoke(fixture, credential.lease)).toMatchObject({ status: 204 })
    expect(kindsOf(fixture, credential.clientId)).toEqual([])
  })

  test('the role name is lower-cased, and the lease id keeps the path as sent', async () => {
    const name = newName()
    await aRole(fixture, name)

    expect((await aCredential(fixture, name.toUpperCase())).lease).toMatch(
      new RegExp(`^cloud/creds/${name.toUpperCase()}/`),
    )
  })

  test('an unknown role is refused', async () => {
    expect(await fixture.root.read('cloud/creds/nobody')).toMatchObject({
      status: 400,
      body: { errors: ["role 'nobody' does not exist"] },
    })
  })
})

/** The kinds of roles, with further fields. */
const forms = [
  { form: 'dynamic', body: async () => ({}) },
  {
    form: 'static',
    body: async () => ({
      application_object_id: fixture.directory.admin.addApplication({ displayName: 'theirs' }).id,
    }),
  },
  { form: 'persisted', body: async () => ({ persist_app: true }) },
]

describe.each(forms)('lifetimes of a $form role', ({ body }) => {
  test('lifetimes come from the role, within its explicit maximum', async () => {
    const name = newName()
    const base = await body()
    await aRole(fixture, name, base)
    const system = 2_764_800
    expect((await aCredential(fixture, name)).duration).toBe(system)

    await aRole(fixture, name, { ...base, ttl: 20, max_ttl: 30 })
    const second = await aCredential(fixture, name)
    expect(second.duration).toBe(20)
    fixture.clock.advance(15)
    expect(await renew(fixture, second.lease, 60)).toMatchObject({
      status: 200,
      body: { lease_duration: 15 },
    })

    await aRole(fixture, name, { ...base, ttl: 20, max_ttl: 0, explicit_max_ttl: 60 })
    const third = await aCredential(fixture, name)
    expect(third.duration).toBe(20)
    fixture.clock.advance(10)
    expect(await renew(fixture, third.lease, 100)).toMatchObject({
      status: 200,
      body: { lease_duration: 50 },
    })
  })

  test('explicit_max_ttl caps a lease without a TTL, and no renewal goes past the end of the secret', async () => {
    const name = newName()
    await aRole(fixture, name, { ...(await body()), explicit_max_ttl: 60 })

    const { lease, duration, warnings } = await aCredential(fixture, name)

    expect(duration).toBe(60)
    expect(warnings).toEqual([
      'TTL of "768h" exceeded the effective max_ttl of "1m"; TTL value is capped accordingly',
    ])
    fixture.clock.advance(30)
    expect(await renew(fixture, lease, 3600)).toMatchObject({ status: 200, body: { lease_duration: 30 } })
    fixture.clock.advance(29)
    expect(await renew(fixture, lease, 3600)).toMatchObject({ status: 200, body: { lease_duration: 1 } })
  })
})

describe('passwords of an application', () => {
  test('each credential is a password that is removed with its lease, and the application stays', async () => {
    const { id, appId } = fixture.directory.admin.addApplication({ displayName: 'theirs' })
    const name = newName()
    await aRole(fixture, name, { application_object_id: id })

    const credential = await aCredential(fixture, name)

    expect(credential.clientId).toBe(appId)
    expect(await works(fixture, credential)).toBe(true)
    expect(kindsOf(fixture, appId)).toEqual(['password'])
    expect(await revoke(fixture, credential.lease)).toMatchObject({ status: 204 })
    expect(kindsOf(fixture, appId)).toEqual([])
    expect(await works(fixture, credential)).toBe(false)
  })

  test('a persisted application keeps its client id for all credentials', async () => {
    const name = newName()
    await aRole(fixture, name, { persist_app: true })

    const [first, second] = [await aCredential(fixture, name), await aCredential(fixture, name)]

    expect(first.clientId).toBe(second.clientId)
    expect([await works(fixture, first), await works(fixture, second)]).toEqual([true, true])
    await revoke(fixture, first.lease)
    expect([await works(fixture, first), await works(fixture, second)]).toEqual([false, true])
  })

  test('two concurrent credentials both work', async () => {
    const { id } = fixture.directory.admin.addApplication({ displayName: 'theirs' })
    fixture.directory.change({ strictConcurrency: true })
    const name = newName()
    await aRole(fixture, name, { application_object_id: id })

    const both = await Promise.all([aCredential(fixture, name), aCredential(fixture, name)])

    fixture.directory.change({ strictConcurrency: false })
    expect(await Promise.all(both.map((one) => works(fixture, one)))).toEqual([true, true])
  })

  test('the third secret on an application for personal accounts is refused with a clear error', async () => {
    const { id } = fixture.directory.admin.addApplication({
      displayName: 'theirs',
      signInAudience: 'PersonalMicrosoftAccount',
    })
    const name = newName()
    await aRole(fixture, name, { application_object_id: id })
    await aCredential(fixture, name)
    await aCredential(fixture, name)

    expect(await fixture.root.read(`cloud/creds/${name}`)).toMatchObject({
      status: 400,
      body: { errors: ['error updating credentials: maximum number of Application passwords reached'] },
    })
    expect(await debris(fixture)).toEqual([])
  })

  test('expired passwords of the engine make room for a new one', async () => {
    const { id } = fixture.directory.admin.addApplication({
      displayName: 'theirs',
      signInAudience: 'PersonalMicrosoftAccount',
    })
    fixture.directory.admin.addPassword(id, { displayName: 'gatehouse-old-1', lifetimeSeconds: -60 })
    fixture.directory.admin.addPassword(id, { displayName: 'somebody else’s', lifetimeSeconds: -60 })
    const name = newName()
    await aRole(fixture, name, { application_object_id: id })

    expect(await works(fixture, await aCredential(fixture, name))).toBe(true)
  })

  test("the engine's own application is refused, even in a stored role", async () => {
    const name = newName()
    const { id, appId } = fixture.directory.admin.addApplication({ displayName: 'theirs' })
    await aRole(fixture, name, { application_object_id: id })
    await fixture.root.write('cloud/config', { client_id: appId })

    const answer = await fixture.root.read(`cloud/creds/${name}`)

    await fixture.root.write('cloud/config', fixture.config())
    expect(answer).toMatchObject({
      status: 400,
      body: { errors: ['application_object_id must not refer to the application used by this engine'] },
    })
  })
})

describe('revocation', () => {
  test('a revocation soft-deletes the application and removes its rights', async () => {
    const name = newName()
    await aRole(fixture, name, { cloud_groups: '[{"group_name":"foo"}]' })
    const credential = await aCredential(fixture, name)

    expect(await revoke(fixture, credential.lease)).toMatchObject({ status: 204 })

    expect(kindsOf(fixture, credential.clientId)).toEqual([])
    expect(kindsOf(fixture, credential.clientId, { deleted: true })).toContain('application')
    expect(await works(fixture, credential)).toBe(false)
    expect(await debris(fixture)).toEqual([])
  })

  test('permanently_delete leaves nothing, not even among the deleted objects', async () => {
    const name = newName()
    await aRole(fixture, name, { permanently_delete: true })
    const { clientId, lease } = await aCredential(fixture, name)

    expect(await revoke(fixture, lease)).toMatchObject({ status: 204 })

    expect([...kindsOf(fixture, clientId), ...kindsOf(fixture, clientId, { deleted: true })]).toEqual([])
  })

  test('a credential with groups only can be revoked', async () => {
    const name = newName()
    await aRole(fixture, name, { cloud_roles: '[]', cloud_groups: '[{"group_name":"foo"}]' })
    const { clientId, lease } = await aCredential(fixture, name)

    expect(await revoke(fixture, lease)).toMatchObject({ status: 204 })
    expect(kindsOf(fixture, clientId)).toEqual([])
  })

  test.each([
    { status: 400, code: 'SomethingElse' },
    { status: 204, code: undefined },
    { status: 404, code: 'RoleAssignmentNotFound' },
  ])('a revocation continues after status $status for an assignment', async ({ status, code }) => {
    const name = newName()
    await aRole(fixture, name)
    const { clientId, lease } = await aCredential(fixture, name)
    fixture.directory.fault({
      kind: 'status',
      operation: 'deleteRoleAssignment',
      status,
      ...(code === undefined ? {} : { code }),
    })

    expect(await revoke(fixture, lease)).toMatchObject({ status: 204 })
    expect(kindsOf(fixture, clientId)).not.toContain('application')
  })

  test('an assignment that could not be removed is debris until it is removed', async () => {
    const name = newName()
    await aRole(fixture, name, { cloud_roles: reader(fixture, 'web', 'data') })
    const { clientId, lease } = await aCredential(fixture, name)
    const assignments = fixture.directory
      .inventory()
      .filter((thing) => thing.kind === 'role-assignment' && thing.clientId === clientId)
    fixture.directory.fault({
      kind: 'status',
      operation: 'deleteRoleAssignment',
      status: 403,
      code: 'AuthorizationFailed',
      times: null,
    })

    expect(await revoke(fixture, lease)).toMatchObject({ status: 204 })

    const left = (await debris(fixture)).map(({ kind, id }) => ({ kind, id: String(id).toLowerCase() }))
    expect(left).toEqual(
      expect.arrayContaining(
        assignments.map(({ id }) => ({ kind: 'roleAssignments', id: id.toLowerCase() })),
      ),
    )
    fixture.directory.clearFaults()
    await cleared(fixture)
    expect(
      fixture.directory
        .inventory()
        .filter((thing) => thing.clientId === clientId && thing.kind === 'role-assignment'),
    ).toEqual([])
  })

  test('rights that were just granted go, also if their removal does not find them yet', async () => {
    const name = newName()
    await aRole(fixture, name, {
      cloud_roles: reader(fixture, 'web'),
      cloud_groups: '[{"group_name":"bar"}]',
    })
    const { clientId, lease } = await aCredential(fixture, name)
    const member = fixture.directory
      .inventory()
      .find((thing) => thing.kind === 'group-member' && thing.clientId === clientId)
    fixture.directory.change({ delaySeconds: { rightToRemoval: 30 } })

    expect(await revoke(fixture, lease)).toMatchObject({ status: 204 })
    const left = (await debris(fixture)).map(({ kind, id }) => ({ kind, id }))
    fixture.clock.advance(31)
    fixture.directory.change({ delaySeconds: { rightToRemoval: 0 } })

    expect(left).toContainEqual({ kind: 'groupMembership', id: member?.id.split('/')[0] })
    await expect.poll(() => kindsOf(fixture, clientId)).toEqual([])
    fixture.clock.advance(61)
    await cleared(fixture)
  })

  test('an assignment that was removed by hand counts as removed', async () => {
    const name = newName()
    await aRole(fixture, name, {
      cloud_roles: reader(fixture, 'web', 'data'),
      cloud_groups: '[{"group_name":"bar"}]',
    })
    const { clientId, lease } = await aCredential(fixture, name)
    const [assignment] = fixture.directory
      .inventory()
      .filter((thing) => thing.kind === 'role-assignment' && thing.clientId === clientId)
    fixture.directory.admin.remove(assignment?.id ?? '')

    expect(await revoke(fixture, lease)).toMatchObject({ status: 204 })
    expect(kindsOf(fixture, clientId)).toEqual([])
  })

  test.each([{ forGood: false }, { forGood: true }])(
    'an application that was deleted by hand counts as removed (permanently_delete $forGood)',
    async ({ forGood }) => {
      const name = newName()
      await aRole(fixture, name, { permanently_delete: forGood })
      const { clientId, lease } = await aCredential(fixture, name)
      const application = fixture.directory
        .inventory()
        .find((thing) => thing.kind === 'application' && thing.clientId === clientId)
      fixture.clock.advance(3600)
      fixture.directory.admin.remove(application?.id ?? '')

      expect(await revoke(fixture, lease)).toMatchObject({ status: 204 })

      await cleared(fixture)
      expect(kindsOf(fixture, clientId)).toEqual([])
      expect(kindsOf(fixture, clientId, { deleted: true }).includes('application')).toBe(!forGood)
    },
  )

  test('a new application that is not replicated yet is looked for again', async () => {
    const name = newName()
    await aRole(fixture, name)
    const { clientId, lease } = await aCredential(fixture, name)
    fixture.directory.fault({
      kind: 'status',
      operation: 'deleteApplication',
      status: 404,
      code: 'Request_ResourceNotFound',
    })

    expect(await revoke(fixture, lease)).toMatchObject({ status: 204 })

    await cleared(fixture)
    expect(kindsOf(fixture, clientId)).toEqual([])
  })

  test('a new password that is not replicated yet is looked for again', async () => {
    const { id, appId } = fixture.directory.admin.addApplication({ displayName: 'theirs' })
    const name = newName()
    await aRole(fixture, name, { application_object_id: id })
    const { lease } = await aCredential(fixture, name)
    fixture.directory.fault({
      kind: 'status',
      operation: 'removeApplicationPassword',
      status: 404,
      code: 'Request_ResourceNotFound',
    })

    expect(await revoke(fixture, lease)).toMatchObject({ status: 204 })

    await cleared(fixture)
    expect(kindsOf(fixture, appId)).toEqual([])
  })

  test.each(['slow', 'lost'] as const)(
    'objects that appear late among the deleted objects are purged, even after a %s answer',
    async (kind) => {
      const name = newName()
      await aRole(fixture, name, { permanently_delete: true })
      const { clientId, lease } = await aCredential(fixture, name)
      fixture.directory.change({ delaySeconds: { deletedToBin: 20 } })
      fixture.directory.fault(
        kind === 'lost'
          ? { kind, operation: 'deleteServicePrincipal' }
          : { kind, delayMs: 1, operation: 'deleteServicePrincipal' },
      )

      expect(await revoke(fixture, lease)).toMatchObject({ status: 204 })

      expect(await debris(fixture)).toEqual([])
      fixture.directory.change({ delaySeconds: { deletedToBin: 0 } })
      expect(kindsOf(fixture, clientId, { deleted: true })).toEqual([])
    },
  )

  test('objects that appear after the revocation are purged in the background', async () => {
    const name = newName()
    await aRole(fixture, name, { permanently_delete: true })
    const { clientId, lease } = await aCredential(fixture, name)
    fixture.directory.change({ delaySeconds: { deletedToBin: 3600 } })

    expect(await revoke(fixture, lease)).toMatchObject({ status: 204 })
    // the application and its service principal
    expect(await debris(fixture)).toMatchObject([{ kind: 'purge' }, { kind: 'purge' }])

    fixture.directory.change({ delaySeconds: { deletedToBin: 0 } })
    await cleared(fixture)
    expect(kindsOf(fixture, clientId, { deleted: true })).toEqual([])
  })

  test('without a configuration a lease can be renewed but not revoked', async () => {
    const name = newName()
    await aRole(fixture, name, { ttl: 600 })
    const { lease } = await aCredential(fixture, name)
    await fixture.root.delete('cloud/config')

    const [renewal, revocation] = [await renew(fixture, lease), await revoke(fixture, lease)]
    await fixture.root.write('cloud/config', fixture.config())

    expect(renewal).toMatchObject({ status: 200, body: { lease_duration: 600 } })
    expect(revocation).toMatchObject({
      status: 400,
      body: { errors: ['failed to revoke entry: error during revoke: subscription_id is required'] },
    })
    expect(await revoke(fixture, lease)).toMatchObject({ status: 204 })
  })
})

describe('renewal', () => {
  test('renewal follows the current role, and is a no-op after the role was deleted', async () => {
    const name = newName()
    await aRole(fixture, name, { ttl: 100, max_ttl: 1000 })
    const { lease } = await aCredential(fixture, name)
    await aRole(fixture, name, { ttl: 200 })
    expect(await renew(fixture, lease)).toMatchObject({
      status: 200,
      body: { lease_duration: 200, data: null },
    })

    await fixture.root.delete(`cloud/roles/${name}`)

    expect(await renew(fixture, lease)).toMatchObject({ status: 204, text: '' })
    expect(await revoke(fixture, lease)).toMatchObject({ status: 204 })
  })

  test('renewal sends no request upstream', async () => {
    const name = newName()
    await aRole(fixture, name, { ttl: 100 })
    const { lease } = await aCredential(fixture, name)
    const before = fixture.directory.journal.entries().length

    await renew(fixture, lease)

    expect(fixture.directory.journal.entries()).toHaveLength(before)
  })
})

test('each Cloud role becomes an assignment of its definition', async () => {
  const name = newName()
  const roles = [
    { role_name: 'Storage Blob Data Owner', scope: fixture.scope('web') },
    { role_id: fixture.definition(guids.reader), scope: fixture.scope('web') },
  ]
  await aRole(fixture, name, { cloud_roles: JSON.stringify(roles) })

  const { clientId } = await aCredential(fixture, name)

  const names = fixture.directory
    .inventory()
    .flatMap((thing) => (thing.kind === 'role-assignment' && thing.clientId === clientId ? [thing.name] : []))
  expect(names.sort()).toEqual(['Reader', 'Storage Blob Data Owner'])
})
