import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Thing } from '../../../../simulators/directory/inventory.ts'
import { type CloudFixture, guids, startCloudFixture } from '../cloud-fixture.ts'

let fixture: CloudFixture

beforeAll(async () => {
  fixture = await startCloudFixture()
})
afterAll(() => fixture[Symbol.asyncDispose]())

let count = 0
const newName = () => `p${++count}`
const write = (name: string, body: object) => fixture.root.write(`cloud/roles/${name}`, body)
const read = async (name: string) => (await fixture.root.read(`cloud/roles/${name}`)).body['data'] ?? {}
const owner = (resourceGroup = 'web') => ({
  role_name: 'Owner',
  role_id: fixture.definition(guids.owner),
  scope: fixture.scope(resourceGroup),
})
const reader = (resourceGroup = 'web') => ({
  role_name: 'Reader',
  role_id: fixture.definition(guids.reader),
  scope: fixture.scope(resourceGroup),
})
const lists = (roles: object[], groups: string[]) => ({
  cloud_roles: JSON.stringify(roles),
  cloud_groups: JSON.stringify(groups.map((group_name) => ({ group_name }))),
})

/** What exists upstream for an application, by default without deleted objects. */
function thingsOf(objectId: string, { deleted = false } = {}): Thing[] {
  const all = fixture.directory.inventory()
  const clientId = all.find(({ id }) => id === objectId)?.clientId
  return all.filter(
    (thing) => thing.clientId === clientId && clientId !== undefined && (deleted || !thing.deleted),
  )
}
const rights = (objectId: string) =>
  thingsOf(objectId)
    .filter(({ kind }) => kind === 'role-assignment' || kind === 'group-member')
    .map(({ kind, name, id }) =>
      kind === 'group-member' ? `member of ${name}` : `${name} on ${id.split('/')[4]}`,
    )
    .sort()
const debris = async () => (await fixture.root.read('cloud/debris')).body['data']?.['objects']
const untilNoDebris = () => expect.poll(debris, { timeout: 20_000 }).toEqual([])

/** Creates a role with persist_app and returns the object id of its application. */
async function persisted(name: string, more: object = {}): Promise<string> {
  const answer = await write(name, {
    persist_app: true,
    ...lists([owner('web'), reader('data')], ['foo', 'bar']),
    ...more,
  })
  expect(answer).toMatchObject({ status: 204, text: '' })
  return String((await read(name))['application_object_id'])
}

describe('a role with persist_app', () => {
  test('creates a named and tagged application with all its rights and without a secret', async () => {
    const name = newName()
    const id = await persisted(name, { tags: 'team:a', sign_in_audience: 'CloudADMultipleOrgs' })

    const things = thingsOf(id)

    expect(await read(name)).toMatchObject({ persist_app: true, cloud_roles: [owner('web'), reader('data')] })
    expect(things.map(({ kind }) => kind).sort()).toEqual([
      'application',
      'group-member',
      'group-member',
      'role-assignment',
      'role-assignment',
      'service-principal',
    ])
    expect(rights(id)).toEqual(['Owner on web', 'Reader on data', 'member of bar', 'member of foo'])
    const accessor = (await fixture.root.read('sys/mounts')).body['data']?.['cloud/']?.['accessor']
    const [application] = things
    expect(application?.name).toMatch(
      new RegExp(`^gatehouse-${name}-${Math.floor(fixture.clock.now() / 1000)}-[0-9A-Za-z]{8}$`),
    )
    expect(application?.tags).toEqual([
      'team:a',
      expect.stringMatching(new RegExp(`^gatehouse:${accessor}:[0-9a-f-]{36}$`)),
    ])
    const creation = fixture.directory.journal.entries({ operation: 'createApplication' }).at(-1)
    expect(creation?.body).toMatchObject({ signInAudience: 'AzureADMultipleOrgs' })
    expect(await debris()).toEqual([])
  })

  test('changes its rights without replacing the application or the unchanged rights', async () => {
    const name = newName()
    const id = await persisted(name)
    const kept = thingsOf(id).find(({ name: right }) => right === 'Reader')
    fixture.directory.journal.clear()

    expect(
      (await write(name, { ...lists([reader('data'), owner('data')], ['bar']), ttl: 300, max_ttl: 3000 }))
        .status,
    ).toBe(204)

    expect(await read(name)).toMatchObject({ application_object_id: id, ttl: 300, max_ttl: 3000 })
    expect(rights(id)).toEqual(['Owner on data', 'Reader on data', 'member of bar'])
    expect(thingsOf(id)).toContainEqual(kept)
    const changes = fixture.directory.journal
      .entries()
      .filter(({ method }) => method !== 'GET' && method !== 'POST')
    expect(changes.map(({ operation }) => operation)).toEqual([
      'putRoleAssignment',
      'deleteRoleAssignment',
      'removeGroupMember',
    ])
    expect(await debris()).toEqual([])
  })

  test('keeps a right whose scope is spelled otherwise', async () => {
    const name = newName()
    const id = await persisted(name)
    const before = thingsOf(id)
    fixture.directory.journal.clear()
    const roles = [
      { ...owner('web'), scope: `${fixture.scope('web').toUpperCase()}/` },
      {
        role_id: `/providers/Microsoft.Authorization/roleDefinitions/${guids.reader}`,
        scope: fixture.scope('data'),
      },
    ]

    expect(await write(name, lists(roles, ['foo', 'bar']))).toMatchObject({ status: 204, text: '' })

    expect(fixture.directory.journal.entries({ operation: 'putRoleAssignment' })).toEqual([])
    expect(thingsOf(id)).toEqual(before)
  })

  test('loses a right that was just granted, also if its removal does not find it yet', async () => {
    const name = newName()
    const id = await persisted(name)
    fixture.directory.change({ delaySeconds: { rightToRemoval: 30 } })

    expect((await write(name, lists([reader('data')], ['bar']))).status).toBe(204)
    const before = rights(id)
    const left = await debris()
    fixture.clock.advance(31)

    expect(before).toEqual(['Owner on web', 'Reader on data', 'member of bar', 'member of foo'])
    expect(left).toHaveLength(2)
    await untilNoDebris()
    fixture.directory.change({ delaySeconds: { rightToRemoval: 0 } })
    expect(rights(id)).toEqual(['Reader on data', 'member of bar'])
  })

  test('does not change if a right cannot be added', async () => {
    const name = newName()
    const id = await persisted(name)
    const before = await read(name)
    fixture.directory.fault({
      kind: 'status',
      status: 400,
      code: 'RoleAssignmentLimitExceeded',
      message: 'No more.',
      operation: 'putRoleAssignment',
    })

    const answer = await write(name, lists([owner('data'), reader('web')], []))

    expect(answer.status).toBe(400)
    expect(String(answer.body['errors']?.[0])).toMatch(
      /^could not create persisted app: .*RoleAssignmentLimitExceeded/,
    )
    expect(await read(name)).toEqual(before)
    await untilNoDebris()
    expect(rights(id)).toEqual(['Owner on web', 'Reader on data', 'member of bar', 'member of foo'])
  })

  test('leaves nothing to undo for refused rights, and undoes the granted ones', async () => {
    const name = newName()
    const id = await persisted(name, lists([owner('web')], []))
    for (const operation of ['addGroupMember', 'removeGroupMember'] as const) {
      fixture.directory.fault({
        kind: 'status',
        status: 403,
        code: 'Authorization_RequestDenied',
        message: 'Insufficient privileges',
        operation,
        times: null,
      })
    }

    const byRole = await write(
      name,
      lists(
        [
          owner('web'),
          reader('data'),
          { ...reader(), scope: '/providers/Microsoft.Management/managementGroups/root' },
        ],
        [],
      ),
    )
    const byGroup = await write(name, lists([owner('web'), reader('data')], ['foo']))

    expect(String(byRole.body['errors']?.[0])).toMatch(
      /^could not create persisted app: .*missing permission: Microsoft.Authorization/,
    )
    expect(String(byGroup.body['errors']?.[0])).toMatch(
      /^could not create persisted app: .*missing permission: GroupMember/,
    )
    await untilNoDebris()
    fixture.directory.clearFaults()
    expect(rights(id)).toEqual(['Owner on web'])
  })

  test('removes rights later if that fails at first', async () => {
    const name = newName()
    const id = await persisted(name)
    fixture.directory.fault({
      kind: 'status',
      status: 400,
      code: 'Odd',
      message: 'odd',
      operation: 'deleteRoleAssignment',
      times: 2,
    })

    expect((await write(name, lists([owner('web')], ['foo']))).status).toBe(204)

    await untilNoDebris()
    expect(rights(id)).toEqual(['Owner on web', 'member of foo'])
  })

  test.each([
    { operation: 'createServicePrincipal', status: 400 },
    { operation: 'putRoleAssignment', status: 403 },
    { operation: 'addGroupMember', status: 403 },
  ] as const)(
    'is not stored and leaves nothing upstream if $operation fails',
    async ({ operation, status }) => {
      const name = newName()
      const before = fixture.directory.inventory().filter(({ deleted }) => !deleted)
      fixture.directory.fault({
        kind: 'status',
        status,
        code: 'Authorization_Odd',
        message: 'odd',
        operation,
      })

      const answer = await write(name, { persist_app: true, ...lists([owner()], ['foo']) })

      expect(answer.status).toBe(400)
      expect(String(answer.body['errors']?.[0])).toContain('could not create persisted app: ')
      expect((await fixture.root.read(`cloud/roles/${name}`)).status).toBe(404)
      await untilNoDebris()
      expect(fixture.directory.inventory().filter(({ deleted }) => !deleted)).toEqual(before)
    },
  )

  test('leaves nothing to undo if the application is refused', async () => {
    fixture.directory.fault({
      kind: 'status',
      status: 403,
      code: 'Authorization_RequestDenied',
      message: 'Insufficient privileges.',
      operation: 'createApplication',
    })

    const answer = await write(newName(), { persist_app: true, ...lists([owner()], []) })

    expect(answer.status).toBe(400)
    expect(String(answer.body['errors']?.[0])).toContain('missing permission: Application.ReadWrite.OwnedBy')
    expect(await debris()).toEqual([])
  })

  test('waits for replication', async () => {
    await using slow = await startCloudFixture({
      directory: {
        settings: { delaySeconds: { applicationToServicePrincipal: 12, servicePrincipalToGroup: 9 } },
      },
    })

    expect(
      (await slow.root.write('cloud/roles/a', { persist_app: true, cloud_groups: '[{"group_name":"foo"}]' }))
        .status,
    ).toBe(204)

    expect(
      slow.directory
        .inventory()
        .map(({ kind }) => kind)
        .sort(),
    ).toEqual(['application', 'group-member', 'service-principal'])
    expect(slow.clock.pauses.length).toBeGreaterThan(1)
  })
})

const together = 'application_object_id cannot be set together with persist_app'

describe('conflicting fields are refused', () => {
  test.each([
    {
      name: 'another application',
      body: { application_object_id: '11111111-2222-3333-4444-555555555555' },
      text: together,
    },
    {
      name: 'to end it',
      body: { persist_app: false },
      text: 'persist_app cannot be disabled; delete the role instead',
    },
  ])('$name', async ({ body, text }) => {
    const name = newName()
    await persisted(name)
    const before = await read(name)

    expect(await write(name, body)).toMatchObject({ status: 400, body: { errors: [text] } })

    expect(await read(name)).toEqual(before)
  })

  test('persist_app needs application_object_id to be cleared', async () => {
    const { id } = fixture.directory.admin.addApplication({ displayName: 'x' })
    const name = newName()
    await write(name, { application_object_id: id, cloud_groups: '[{"group_name":"foo"}]' })

    expect(await write(name, { persist_app: true })).toMatchObject({
      status: 400,
      body: { errors: [together] },
    })
    expect((await write(name, { persist_app: true, application_object_id: '' })).status).toBe(204)

    const shown = await read(name)
    expect(shown['application_object_id']).not.toBe(id)
    expect((await fixture.root.delete(`cloud/roles/${name}`)).status).toBe(204)
    expect(fixture.directory.debris()).not.toContainEqual(
      expect.objectContaining({ id: shown['application_object_id'] }),
    )
  })

  test('its own object id, an empty one and permanently_delete are accepted', async () => {
    const name = newName()
    const id = await persisted(name, { permanently_delete: true })

    for (const body of [
      { application_object_id: id },
      { application_object_id: '' },
      { permanently_delete: true, persist_app: true },
    ]) {
      expect((await write(name, body)).status).toBe(204)
      expect(await read(name)).toMatchObject({
        application_object_id: id,
        permanently_delete: true,
        persist_app: true,
      })
    }
  })
})

describe('the deletion of a role with persist_app', () => {
  test.each([
    { permanently_delete: false, left: true },
    { permanently_delete: true, left: false },
  ])(
    'deletes the application with permanently_delete $permanently_delete',
    async ({ permanently_delete, left }) => {
      const name = newName()
      const id = await persisted(name, { permanently_delete })
      const ids = thingsOf(id).map((thing) => thing.id)

      expect(await fixture.root.delete(`cloud/roles/${name}`)).toMatchObject({ status: 204, text: '' })

      await untilNoDebris()
      const after = fixture.directory.inventory().filter((thing) => ids.includes(thing.id))
      expect(after.filter(({ deleted }) => !deleted)).toEqual([])
      expect(after.some((thing) => thing.id === id)).toBe(left)
      expect((await fixture.root.read(`cloud/roles/${name}`)).status).toBe(404)
    },
  )

  test('succeeds if the application was deleted by hand', async () => {
    const name = newName()
    const id = await persisted(name)
    fixture.directory.admin.remove(id)

    expect((await fixture.root.delete(`cloud/roles/${name}`)).status).toBe(204)

    expect((await fixture.root.read(`cloud/roles/${name}`)).status).toBe(404)
  })

  test('warns of rights that cannot be removed, and removes them later', async () => {
    const name = newName()
    const id = await persisted(name)
    fixture.directory.fault({
      kind: 'status',
      status: 400,
      code: 'Odd',
      message: 'odd',
      operation: 'deleteRoleAssignment',
      times: 2,
    })

    const answer = await fixture.root.delete(`cloud/roles/${name}`)

    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({
      data: null,
      warnings: ['error unassigning role: Odd: odd', 'error unassigning role: Odd: odd'],
    })
    await untilNoDebris()
    expect(thingsOf(id)).toEqual([])
    expect(
      fixture.directory
        .inventory()
        .filter(({ kind, clientId }) => kind === 'role-assignment' && clientId === null),
    ).toEqual([])
  })

  test('fails if the application cannot be deleted', async () => {
    const name = newName()
    const id = await persisted(name)
    fixture.directory.fault({
      kind: 'status',
      status: 403,
      code: 'Authorization_RequestDenied',
      message: 'Insufficient privileges.',
      operation: 'deleteApplication',
    })

    const answer = await fixture.root.delete(`cloud/roles/${name}`)

    expect(answer.status).toBe(400)
    expect(String(answer.body['errors']?.[0])).toMatch(/^error deleting persisted app: /)
    expect((await fixture.root.read(`cloud/roles/${name}`)).status).toBe(200)
    expect(rights(id)).toEqual(['Owner on web', 'Reader on data', 'member of bar', 'member of foo'])
    expect((await fixture.root.delete(`cloud/roles/${name}`)).status).toBe(204)
  })

  test('needs a configuration', async () => {
    await using other = await startCloudFixture()
    await other.root.write('cloud/roles/a', { persist_app: true, cloud_groups: '[{"group_name":"foo"}]' })
    await other.root.delete('cloud/config')

    const answer = await other.root.delete('cloud/roles/a')

    expect(answer).toMatchObject({
      status: 400,
      body: { errors: ['error during delete: subscription_id is required'] },
    })
  })
})

test('concurrent writes of one role create one application', async () => {
  const name = newName()
  const before = fixture.directory.inventory().filter(({ kind }) => kind === 'application').length

  const answers = await Promise.all(
    Array.from({ length: 4 }, (_, index) =>
      write(name, { persist_app: true, ttl: index, ...lists([owner()], ['foo']) }),
    ),
  )

  expect(answers.map(({ status }) => status)).toEqual([204, 204, 204, 204])
  expect(fixture.directory.inventory().filter(({ kind }) => kind === 'application').length).toBe(before + 1)
  expect(rights(String((await read(name))['application_object_id']))).toEqual([
    'Owner on web',
    'member of foo',
  ])
})
