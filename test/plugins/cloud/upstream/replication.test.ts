import { describe, expect, test } from 'vitest'
import { callerError } from '../../../../src/plugins/cloud/upstream/index.ts'
import { type Aimed, aim, failureOf } from './aimed.ts'

const made = async ({ upstream, call }: Aimed) =>
  await upstream.directory.createApplication({ displayName: 'a' }, call())

const principalOf = ({ upstream, call }: Aimed, appId: string) =>
  upstream.untilReplicated('createServicePrincipal', call(), (left) =>
    upstream.directory.createServicePrincipal(appId, left),
  )

const id = '0f6e1f3a-0000-4000-8000-000000000001'

// docs/contract/cloud.md#service-principals
describe('a service principal', () => {
  test('is created by the fourth request after three "local tenant" refusals', async () => {
    await using aimed = await aim()
    const { appId } = await made(aimed)
    const message =
      'When using this permission, the backing application of the service principal being created must in the local tenant'
    aimed.directory.fault({
      kind: 'status',
      status: 403,
      code: 'Authorization_RequestDenied',
      message,
      operation: 'createServicePrincipal',
      times: 3,
    })

    await expect(principalOf(aimed, appId)).resolves.toMatchObject({ appId })

    expect(aimed.directory.journal.entries({ operation: 'createServicePrincipal' })).toHaveLength(4)
  })

  test.each([
    {
      message: `Resource '${id}' does not exist or one of its queried reference-property objects are not present`,
    },
    { message: `Application with identifier 'abc123' does not exist in the directory` },
    { message: 'Application not found' },
    { message: 'Changes are still propagating, please try again' },
  ])('is created after two refusals with "$message"', async ({ message }) => {
    await using aimed = await aim()
    const { appId } = await made(aimed)
    aimed.directory.fault({
      kind: 'status',
      status: 400,
      code: 'Request_BadRequest',
      message,
      operation: 'createServicePrincipal',
      times: 2,
    })

    await expect(principalOf(aimed, appId)).resolves.toMatchObject({ appId })

    expect(aimed.directory.journal.entries({ operation: 'createServicePrincipal' })).toHaveLength(3)
  })

  test('fails at once if the token lacks the permission, with that message', async () => {
    await using aimed = await aim({ settings: { directoryPermissions: ['Group.Read.All'] } })
    const { appId } = aimed.directory.admin.addApplication({ displayName: 'a' })
    const message = 'Insufficient privileges to complete the operation.'

    const error = await failureOf(principalOf(aimed, appId))

    expect(callerError(error, 'error creating service principal')).toMatchObject({
      kind: 'invalid',
      message: `error creating service principal: Authorization_RequestDenied: ${message}; missing permission: Application.ReadWrite.OwnedBy`,
    })
    expect(aimed.directory.journal.entries({ operation: 'createServicePrincipal' })).toHaveLength(1)
  })

  test('is created whatever error replicas use for the delay', async () => {
    await using aimed = await aim({
      settings: {
        replicas: 3,
        delaySeconds: { applicationToServicePrincipal: 12, servicePrincipalToPassword: 9, changeToRead: 6 },
      },
    })
    const { appId } = await made(aimed)
    const endDateTime = new Date(aimed.clock.now() + 3_600_000).toISOString()

    const { id: principalId } = await principalOf(aimed, appId)
    const added = aimed.upstream.untilReplicated('addServicePrincipalPassword', aimed.call(), (left) =>
      aimed.upstream.directory.addServicePrincipalPassword(
        principalId,
        { displayName: 'x', endDateTime },
        left,
      ),
    )

    await expect(added).resolves.toMatchObject({ secretText: expect.any(String) })
  })

  test('waits if its name is in use by an object that is not visible yet', async () => {
    await using aimed = await aim({ settings: { delaySeconds: { changeToRead: 10 } } })
    const { appId } = await made(aimed)
    aimed.clock.advance(20)
    aimed.directory.fault({ kind: 'lost', operation: 'createServicePrincipal' })

    await expect(principalOf(aimed, appId)).resolves.toMatchObject({ appId })
  })
})

describe('a role assignment', () => {
  const assign = async ({ directory, upstream, call }: Aimed, seconds = 90) => {
    const { servicePrincipalId: principalId } = directory.admin.addApplication({ displayName: 'a' })
    const [definition] = await upstream.resourceManager.findRoleDefinitions('Reader', undefined, call())
    const { scope } = directory.admin.addResourceGroup('web')
    return await upstream.untilReplicated('putRoleAssignment', call(seconds), (left) =>
      upstream.resourceManager.putRoleAssignment(
        { scope, name: id, roleDefinitionId: definition?.id ?? '', principalId },
        left,
      ),
    )
  }
  const notYet = {
    kind: 'status',
    status: 400,
    code: 'PrincipalNotFound',
    operation: 'putRoleAssignment',
  } as const

  test('is retried after PrincipalNotFound', async () => {
    await using aimed = await aim()
    aimed.directory.fault({ ...notYet, times: 2 })

    await expect(assign(aimed)).resolves.toMatchObject({ id: expect.stringContaining(id) })

    expect(aimed.directory.journal.entries({ operation: 'putRoleAssignment' })).toHaveLength(3)
  })

  test('is retried after PrincipalNotFound until the window ends, and fails with that message', async () => {
    await using aimed = await aim()
    aimed.directory.fault({
      ...notYet,
      message: 'PrincipalNotFound - service principal not replicated',
      times: null,
    })

    const error = await failureOf(assign(aimed, 3600))

    expect(error.message).toMatch(
      /^retry failed: .*PrincipalNotFound - service principal not replicated.*context deadline exceeded$/,
    )
    expect(callerError(error, 'error while assigning roles').kind).toBe('upstream')
    expect(aimed.clock.pauses.reduce((sum, pause) => sum + pause, 0)).toBe(80_000)
    expect(aimed.directory.journal.entries({ operation: 'putRoleAssignment' }).length).toBeGreaterThan(1)
  })

  test('fails at once if privileges are missing, with that message', async () => {
    await using aimed = await aim()
    aimed.directory.fault({
      ...notYet,
      status: 403,
      code: 'AuthorizationFailed',
      message: 'Insufficient privileges',
      times: null,
    })

    const error = await failureOf(assign(aimed))

    expect(callerError(error).message).toMatch(
      /Insufficient privileges; missing permission: Microsoft\.Authorization\/roleAssignments\/write$/,
    )
    expect(aimed.directory.journal.entries({ operation: 'putRoleAssignment' })).toHaveLength(1)
  })

  test('stops its retries at the deadline, with the last message', async () => {
    await using aimed = await aim()
    aimed.directory.fault({ ...notYet, message: 'not yet', times: null })

    const error = await failureOf(assign(aimed, 5))

    expect(error.message).toBe('retry failed: PrincipalNotFound: not yet: context deadline exceeded')
  })

  test('can exist under its name already', async () => {
    await using aimed = await aim()
    aimed.directory.fault({ kind: 'lost', operation: 'putRoleAssignment' })

    await expect(assign(aimed)).resolves.toMatchObject({ id: expect.stringContaining(id) })
  })
})

test('a membership waits for its new member', async () => {
  await using aimed = await aim({ settings: { delaySeconds: { servicePrincipalToGroup: 10 } } })
  const { appId } = await made(aimed)
  const { id: principalId } = await principalOf(aimed, appId)
  const groupId = aimed.directory.groupIds['foo'] ?? ''

  await aimed.upstream.untilReplicated('addGroupMember', aimed.call(), (left) =>
    aimed.upstream.directory.addGroupMember(groupId, principalId, left),
  )

  expect(aimed.directory.inventory().filter(({ kind }) => kind === 'group-member')).toMatchObject([
    { id: `${groupId}/${principalId}` },
  ])
})
