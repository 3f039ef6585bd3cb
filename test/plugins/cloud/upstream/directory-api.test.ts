import { describe, expect, test } from 'vitest'
import { classify } from '../../../../src/plugins/cloud/upstream/index.ts'
import { aim, failureOf } from './aimed.ts'

const names = [
  "it's",
  'a & b',
  'a#b',
  'a?b=c',
  '100%',
  'https://example.com/x',
  "'",
  "''",
  'größe',
  'a+b',
  "x' or '1' eq '1",
  '%27',
  '$filter=x',
]

// What docs/decisions/0007-cloud-clients.md says of the query strings of the library
test.each(names)('a group called "%s" is found, and no other', async (name) => {
  await using aimed = await aim()
  const { id } = aimed.directory.admin.addGroup(name)

  expect(await aimed.upstream.directory.findGroups(name, aimed.call())).toMatchObject([
    { id, displayName: name },
  ])
})

test.each(names)('a role definition called "%s" is found, and no other', async (name) => {
  await using aimed = await aim()
  const { id } = aimed.directory.admin.addRoleDefinition({ roleName: name })

  expect(await aimed.upstream.resourceManager.findRoleDefinitions(name, undefined, aimed.call())).toEqual([
    { id, roleName: name },
  ])
})

test.each(names)('an application called "%s" is created and found', async (displayName) => {
  await using aimed = await aim()

  const made = await aimed.upstream.directory.createApplication({ displayName }, aimed.call())

  expect(made.displayName).toBe(displayName)
  expect(await aimed.upstream.directory.findApplications({ displayName }, aimed.call())).toEqual([made])
})

test('applications are found by client id and by the prefix of a tag', async () => {
  await using aimed = await aim()
  const { directory } = aimed.upstream
  const mine = await directory.createApplication(
    { displayName: 'a', tags: ['team:x', 'gatehouse:cloud_1:c'], signInAudience: 'AzureADMyOrg' },
    aimed.call(),
  )
  await directory.createApplication({ displayName: 'a', tags: ['gatehouse:cloud_2:c'] }, aimed.call())

  expect(await directory.findApplications({ appId: mine.appId }, aimed.call())).toEqual([mine])
  expect(await directory.findApplications({ tagPrefix: 'gatehouse:cloud_1:' }, aimed.call())).toEqual([mine])
})

const application = {
  id: '1e9f5f1b-8b66-4d66-8d69-6b4f2e1fac32',
  appId: '0d8f4f0a-7a55-4c55-9c58-5a3f1d0f9b21',
  displayName: 'a',
}

test.each([
  { what: 'a number for an id', changed: { id: 5 } },
  { what: 'an id that is a path', changed: { id: '../../groups/x' } },
  { what: 'no id', changed: { id: '' } },
  { what: 'a client id that ends a filter', changed: { appId: "x')" } },
])(
  'a new application with $what is an unusable answer, and the request may have taken effect',
  async ({ changed }) => {
    await using aimed = await aim()
    aimed.directory.fault({
      kind: 'status',
      operation: 'createApplication',
      status: 201,
      body: { ...application, ...changed },
    })

    const error = await failureOf(
      aimed.upstream.directory.createApplication({ displayName: 'a' }, aimed.call()),
    )

    expect(error).toMatchObject({ code: 'unusable_answer', lost: true })
  },
)

test('an application without a name, tags or passwords is valid', async () => {
  await using aimed = await aim()
  const bare = { ...application, displayName: null, tags: null, passwordCredentials: null }
  aimed.directory.fault({ kind: 'status', operation: 'getApplication', status: 200, body: bare })

  expect(await aimed.upstream.directory.getApplication(application.id, aimed.call())).toMatchObject({
    displayName: '',
    tags: [],
    passwordCredentials: [],
  })
})

test('unset fields are not sent', async () => {
  await using aimed = await aim()

  await aimed.upstream.directory.createApplication(
    { displayName: 'a', tags: undefined, signInAudience: undefined },
    aimed.call(),
  )

  expect(aimed.directory.journal.entries({ operation: 'createApplication' })[0]?.body).toEqual({
    displayName: 'a',
    servicePrincipalLockConfiguration: { isEnabled: false },
  })
})

test.each([
  '',
  '.',
  '..',
  '\ud800',
  'x'.repeat(65),
  'a/b',
  '../groups',
  'a?b',
  'a#b',
  '%2e%2e',
  'https://evil.example/x',
  "it's",
])('%j is not a valid id, and no request is sent', async (id) => {
  await using aimed = await aim()
  const { directory } = aimed.upstream
  const member = '33333333-3333-4333-8333-333333333333'

  const errors = await Promise.all([
    failureOf(directory.getApplication(id, aimed.call())),
    failureOf(directory.deleteApplication(id, aimed.call())),
    failureOf(directory.purgeDeleted(id, aimed.call())),
    failureOf(directory.removeGroupMember(member, id, aimed.call())),
    failureOf(directory.removeGroupMember(id, member, aimed.call())),
    failureOf(directory.addApplicationPassword(id, { displayName: 'x', endDateTime: 'x' }, aimed.call())),
    failureOf(directory.getGroup(id, aimed.call())),
  ])

  expect(errors.map((error) => classify(error).kind)).toEqual(errors.map(() => 'gone'))
  expect(aimed.directory.journal.entries()).toEqual([])
})

test('an id that is not a UUID is requested and does not exist', async () => {
  await using aimed = await aim()

  expect(classify(await failureOf(aimed.upstream.directory.getApplication('abc', aimed.call()))).kind).toBe(
    'gone',
  )
})

describe('a service principal', () => {
  test('that already exists is returned', async () => {
    await using aimed = await aim()
    const { appId, servicePrincipalId } = aimed.directory.admin.addApplication({ displayName: 'a' })

    const principal = await aimed.upstream.directory.createServicePrincipal(appId, aimed.call())

    expect(principal).toMatchObject({ id: servicePrincipalId, appId })
  })

  test('is found if the answer of its creation was lost', async () => {
    await using aimed = await aim()
    const { appId } = await aimed.upstream.directory.createApplication({ displayName: 'a' }, aimed.call())
    aimed.directory.fault({ kind: 'lost', operation: 'createServicePrincipal' })

    const principal = await aimed.upstream.directory.createServicePrincipal(appId, aimed.call())

    expect(aimed.directory.inventory().filter(({ kind }) => kind === 'service-principal')).toMatchObject([
      { id: principal.id },
    ])
  })

  test.each(["it's nobody", '99999999-9999-4999-8999-999999999999'])(
    'is undefined for "%s"',
    async (appId) => {
      await using aimed = await aim()

      expect(await aimed.upstream.directory.findServicePrincipal(appId, aimed.call())).toBeUndefined()
    },
  )
})

describe('members of a group', () => {
  test('are added with the address of the configured directory', async () => {
    await using aimed = await aim()
    const { servicePrincipalId } = aimed.directory.admin.addApplication({ displayName: 'a' })

    await aimed.upstream.directory.addGroupMember(
      aimed.directory.groupIds['foo'] ?? '',
      servicePrincipalId,
      aimed.call(),
    )

    expect(aimed.directory.journal.entries({ operation: 'addGroupMember' })[0]?.body).toEqual({
      '@odata.id': `${aimed.directory.directoryUrl}/v1.0/directoryObjects/${servicePrincipalId}`,
    })
  })

  test('can be added twice', async () => {
    await using aimed = await aim()
    const { servicePrincipalId } = aimed.directory.admin.addApplication({ displayName: 'a' })
    const add = () =>
      aimed.upstream.directory.addGroupMember(
        aimed.directory.groupIds['foo'] ?? '',
        servicePrincipalId,
        aimed.call(),
      )

    await add()

    await expect(add()).resolves.toBeUndefined()
  })

  test('are awaited, but their group is not', async () => {
    await using aimed = await aim()
    const { servicePrincipalId } = aimed.directory.admin.addApplication({ displayName: 'a' })
    const nowhere = '44444444-4444-4444-8444-444444444444'

    const noGroup = await failureOf(
      aimed.upstream.directory.addGroupMember(nowhere, servicePrincipalId, aimed.call()),
    )
    const noMember = await failureOf(
      aimed.upstream.directory.addGroupMember(aimed.directory.groupIds['foo'] ?? '', nowhere, aimed.call()),
    )

    expect([classify(noGroup).kind, classify(noMember).kind]).toEqual(['gone', 'retry'])
  })
})

test('a missing password counts as removed, but a missing application does not', async () => {
  await using aimed = await aim()
  const { id } = aimed.directory.admin.addApplication({ displayName: 'a' })
  const nobody = '55555555-5555-4555-8555-555555555555'

  await expect(
    aimed.upstream.directory.removeApplicationPassword(id, nobody, aimed.call()),
  ).resolves.toBeUndefined()

  expect(
    classify(
      await failureOf(aimed.upstream.directory.removeApplicationPassword(nobody, nobody, aimed.call())),
    ).kind,
  ).toBe('gone')
})

test('a missing assignment counts as deleted', async () => {
  await using aimed = await aim()
  const id = `/subscriptions/${aimed.directory.subscriptionId}/providers/Microsoft.Authorization/roleAssignments/66666666-6666-4666-8666-666666666666`

  await expect(aimed.upstream.resourceManager.deleteRoleAssignment(id, aimed.call())).resolves.toBe(false)
  aimed.directory.fault({
    kind: 'status',
    status: 404,
    code: 'RoleAssignmentNotFound',
    operation: 'deleteRoleAssignment',
  })
  await expect(aimed.upstream.resourceManager.deleteRoleAssignment(id, aimed.call())).resolves.toBe(false)
})

test.each(['/a?b', '/a/../b', '/a#', '..', '/a\\b'])(
  'a scope or id "%s" is not put into an address',
  async (text) => {
    await using aimed = await aim()
    const { resourceManager } = aimed.upstream

    const errors = await Promise.all([
      failureOf(resourceManager.getRoleDefinition(text, aimed.call())),
      failureOf(resourceManager.deleteRoleAssignment(text, aimed.call())),
      failureOf(
        resourceManager.putRoleAssignment(
          { scope: text, name: 'n', roleDefinitionId: 'r', principalId: 'p' },
          aimed.call(),
        ),
      ),
    ])

    expect(errors.map(({ code }) => code)).toEqual([
      'InvalidResourceId',
      'InvalidResourceId',
      'InvalidResourceId',
    ])
    expect(aimed.directory.journal.entries()).toEqual([])
  },
)

test('an assignment names the type of its principal, which avoids the wait for its replication', async () => {
  await using aimed = await aim()
  const { servicePrincipalId: principalId } = aimed.directory.admin.addApplication({ displayName: 'a' })
  const [definition] = await aimed.upstream.resourceManager.findRoleDefinitions(
    'Reader',
    undefined,
    aimed.call(),
  )
  const { scope } = aimed.directory.admin.addResourceGroup('web')

  await aimed.upstream.resourceManager.putRoleAssignment(
    {
      scope: scope.slice(1),
      name: '77777777-7777-4777-8777-777777777777',
      roleDefinitionId: definition?.id ?? '',
      principalId,
    },
    aimed.call(),
  )

  const [request] = aimed.directory.journal.entries({ operation: 'putRoleAssignment' })
  expect(request?.path).toBe(
    `${scope}/providers/Microsoft.Authorization/roleAssignments/77777777-7777-4777-8777-777777777777`,
  )
  expect(request?.body).toEqual({
    properties: { roleDefinitionId: definition?.id, principalId, principalType: 'ServicePrincipal' },
  })
})

describe('lists', () => {
  test('are read to the last page', async () => {
    await using aimed = await aim({ settings: { pageSize: 2 } })
    for (const _ of Array(5)) aimed.directory.admin.addGroup('many')
    for (const _ of Array(5)) aimed.directory.admin.addRoleDefinition({ roleName: 'many' })

    const groups = await aimed.upstream.directory.findGroups('many', aimed.call())
    const definitions = await aimed.upstream.resourceManager.findRoleDefinitions(
      'many',
      undefined,
      aimed.call(),
    )

    expect([new Set(groups.map(({ id }) => id)).size, new Set(definitions.map(({ id }) => id)).size]).toEqual(
      [5, 5],
    )
    expect(aimed.directory.journal.entries({ operation: 'listGroups' })).toHaveLength(3)
  })

  test.each(['listGroups', 'listRoleDefinitions'] as const)(
    'of %s do not lead to another host',
    async (operation) => {
      await using aimed = await aim()
      const [from, to] =
        operation === 'listGroups'
          ? [aimed.directory.directoryUrl, aimed.directory.resourceManagerUrl]
          : [aimed.directory.resourceManagerUrl, aimed.directory.directoryUrl]
      const find = () =>
        operation === 'listGroups'
          ? aimed.upstream.directory.findGroups('foo', aimed.call())
          : aimed.upstream.resourceManager.findRoleDefinitions('Reader', undefined, aimed.call())
      for (const origin of [
        to,
        from.replace('127.0.0.1', 'localhost'),
        from.replace('https:', 'http:'),
        `${from}.evil.example`,
        'not an address',
        `${from}@evil.example`,
      ]) {
        aimed.directory.fault({ kind: 'foreign-next-link', origin, operation })
        aimed.directory.journal.clear()

        const error = await failureOf(find())

        expect({ origin, code: error.code }).toEqual({ origin, code: 'foreign_address' })
        expect(aimed.directory.journal.entries().filter(({ service }) => service !== 'login')).toHaveLength(1)
      }
    },
  )

  test('of the directory stay below its version', async () => {
    await using aimed = await aim()
    aimed.directory.fault({
      kind: 'foreign-next-link',
      origin: aimed.directory.directoryUrl,
      operation: 'listGroups',
    })

    expect((await failureOf(aimed.upstream.directory.findGroups('foo', aimed.call()))).code).toBe(
      'foreign_address',
    )
  })
})

test('the clock offset of the cloud is known after the first answer', async () => {
  await using aimed = await aim({ settings: { clockOffsetSeconds: 120 } })
  const before = aimed.upstream.clockOffsetMs()

  await aimed.upstream.directory.findGroups('foo', aimed.call())

  const offset = aimed.upstream.clockOffsetMs() ?? 0
  expect([before, Math.abs(offset - 120_000) <= 1_000]).toEqual([undefined, true])
})
