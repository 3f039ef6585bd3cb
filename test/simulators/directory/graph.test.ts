import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Directory } from '../../../simulators/directory/directory.ts'
import { startDirectory } from '../../../simulators/directory/start-directory.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import {
  type Actor,
  type Answer,
  actAs,
  askToken,
  filterPath,
  itemsOf,
  makeCredential,
  send,
} from './client.ts'

test('an application can be created, read by its object id, found by client id and name, soft-deleted and purged', async () => {
  await using directory = await startDirectory()
  const root = await actAs(directory)

  const made = await root.graph('POST', '/applications', {
    displayName: "it's & one",
    tags: ['gatehouse:a:b'],
    signInAudience: 'AzureADMultipleOrgs',
  })
  const { id, appId } = made.body
  const read = await root.graph('GET', `/applications/${id}`)
  const byClientId = await root.graph('GET', filterPath('/applications', `appId eq '${appId}'`))
  const byName = await root.graph('GET', filterPath('/applications', "displayName eq 'it''s & one'"))
  const byTag = await root.graph(
    'GET',
    filterPath('/applications', "tags/any(t:startswith(t,'gatehouse:a:'))"),
  )
  const deleted = await root.graph('DELETE', `/applications/${id}`)
  const bin = await root.graph('GET', `/directory/deletedItems/${id}`)
  const purged = await root.graph('DELETE', `/directory/deletedItems/${id}`)
  const empty = await root.graph('GET', `/directory/deletedItems/${id}`)

  expect(made.status).toBe(201)
  expect(read.body).toMatchObject({
    id,
    appId,
    displayName: "it's & one",
    tags: ['gatehouse:a:b'],
    signInAudience: 'AzureADMultipleOrgs',
    passwordCredentials: [],
  })
  for (const found of [byClientId, byName, byTag]) expect(itemsOf(found)).toMatchObject([{ id }])
  expect([deleted.status, bin.status, purged.status, empty.status]).toEqual([204, 200, 204, 404])
})

test('a secret is shown once, and later only its hint', async () => {
  const clock = new FakeClock(1_800_000_000_000)
  await using directory = await startDirectory({ now: () => clock.now() })
  const root = await actAs(directory)
  const { id } = (await root.graph('POST', '/applications', { displayName: 'one' })).body

  const added = await root.graph('POST', `/applications/${id}/addPassword`, {
    passwordCredential: { displayName: 'mine' },
  })
  const read = await root.graph('GET', `/applications/${id}`)

  const { keyId, secretText } = added.body
  expect(added.status).toBe(200)
  expect(secretText).toMatch(/^[\w~-]{40}$/)
  expect(added.body).toMatchObject({
    displayName: 'mine',
    startDateTime: '2027-01-15T08:00:00.000Z',
    endDateTime: '2029-01-15T08:00:00.000Z',
  })
  expect(read.body.passwordCredentials).toMatchObject([
    { keyId, displayName: 'mine', hint: String(secretText).slice(0, 3), secretText: null },
  ])
})

test('deleting an application deletes its service principal', async () => {
  await using directory = await startDirectory()
  const root = await actAs(directory)
  const { id, appId, principalId } = await makeCredential(root)

  const before = await root.graph('GET', `/servicePrincipals(appId='${appId}')`)
  await root.graph('DELETE', `/applications/${id}`)
  const after = await root.graph('GET', `/servicePrincipals/${principalId}`)
  const bin = await root.graph('GET', '/directory/deletedItems/microsoft.graph.servicePrincipal')

  expect(before.body.id).toBe(principalId)
  expect(after.status).toBe(404)
  expect(itemsOf(bin)).toMatchObject([{ id: principalId }])
})

test('a member can be added, listed and removed, and deleting it leaves no membership', async () => {
  await using directory = await startDirectory()
  const root = await actAs(directory)
  const [one, two] = [await makeCredential(root), await makeCredential(root)]
  const group = `/groups/${directory.groupIds.foo}`
  const reference = (id: string) => ({ '@odata.id': `${directory.directoryUrl}/v1.0/directoryObjects/${id}` })

  const added = [
    await root.graph('POST', `${group}/members/$ref`, reference(one.principalId)),
    await root.graph('POST', `${group}/members/$ref`, reference(two.principalId)),
  ]
  const listed = await root.graph('GET', `${group}/members`)
  const removed = await root.graph('DELETE', `${group}/members/${one.principalId}/$ref`)
  await root.graph('DELETE', `/servicePrincipals/${two.principalId}`)
  const left = await root.graph('GET', `${group}/members`)

  expect(added.map(({ status }) => status)).toEqual([204, 204])
  expect(itemsOf(listed).map(({ id }) => id)).toEqual([one.principalId, two.principalId])
  expect(removed.status).toBe(204)
  expect(itemsOf(left)).toEqual([])
})

const nobody = '11111111-1111-4111-8111-111111111111'

type Scene = { directory: Directory; root: Actor }
type Refusal = {
  name: string
  ask(scene: Scene): Promise<Answer>
  status: number
  code: string
  message: RegExp
}

const member = ({ directoryUrl }: Directory, id: string) => ({
  '@odata.id': `${directoryUrl}/v1.0/directoryObjects/${id}`,
})
const missing = (id: string) =>
  new RegExp(
    `^Resource '${id}' does not exist or one of its queried reference-property objects are not present\\.$`,
  )

// simulators/directory/README.md
const refusals: Refusal[] = [
  {
    name: 'an application that is not there',
    ask: ({ root }) => root.graph('GET', `/applications/${nobody}`),
    status: 404,
    code: 'Request_ResourceNotFound',
    message: missing(nobody),
  },
  {
    name: 'a client id where an object id belongs',
    ask: ({ root, directory }) => root.graph('GET', `/applications/${directory.rootClientId}`),
    status: 404,
    code: 'Request_ResourceNotFound',
    message: /does not exist/,
  },
  {
    name: 'an id that is no GUID',
    ask: ({ root }) => root.graph('GET', '/applications/abc'),
    status: 400,
    code: 'Request_BadRequest',
    message: /^Invalid object identifier 'abc'\.$/,
  },
  {
    name: 'an application without a name',
    ask: ({ root }) => root.graph('POST', '/applications', {}),
    status: 400,
    code: 'Request_BadRequest',
    message: /'displayName'/,
  },
  {
    name: 'an audience that is none',
    ask: ({ root }) =>
      root.graph('POST', '/applications', { displayName: 'x', signInAudience: 'CloudADMyOrg' }),
    status: 400,
    code: 'Request_BadRequest',
    message: /'signInAudience'/,
  },
  {
    name: 'a service principal for nothing',
    ask: ({ root }) => root.graph('POST', '/servicePrincipals', { appId: nobody }),
    status: 400,
    code: 'Request_BadRequest',
    message: new RegExp(
      `^The appId '${nobody}' of the service principal does not reference a valid application object\\.$`,
    ),
  },
  {
    name: 'a second service principal',
    ask: ({ root, directory }) => root.graph('POST', '/servicePrincipals', { appId: directory.rootClientId }),
    status: 409,
    code: 'Request_MultipleObjectsWithSameKeyValue',
    message: /because the service principal name [0-9a-f-]{36} is already in use\.$/,
  },
  {
    name: 'a key that is not there',
    ask: ({ root, directory }) =>
      root.graph('POST', `/applications/${directory.rootApplicationId}/removePassword`, { keyId: nobody }),
    status: 400,
    code: 'Request_BadRequest',
    message: /No password credential found with keyId/,
  },
  {
    name: 'an end before the start',
    ask: ({ root, directory }) =>
      root.graph('POST', `/applications/${directory.rootApplicationId}/addPassword`, {
        passwordCredential: { endDateTime: '2001-01-01T00:00:00Z' },
      }),
    status: 400,
    code: 'Request_BadRequest',
    message: /'endDateTime'/,
  },
  {
    name: 'a member that is not there',
    ask: ({ root, directory }) =>
      root.graph('POST', `/groups/${directory.groupIds.foo}/members/$ref`, member(directory, nobody)),
    status: 404,
    code: 'Request_ResourceNotFound',
    message: missing(nobody),
  },
  {
    name: 'a member twice',
    ask: async ({ root, directory }) => {
      await root.graph(
        'POST',
        `/groups/${directory.groupIds.foo}/members/$ref`,
        member(directory, directory.rootServicePrincipalId),
      )
      return root.graph(
        'POST',
        `/groups/${directory.groupIds.foo}/members/$ref`,
        member(directory, directory.rootServicePrincipalId),
      )
    },
    status: 400,
    code: 'Request_BadRequest',
    message:
      /^One or more added object references already exist for the following modified properties: 'members'\.$/,
  },
  {
    name: 'a member of another host',
    ask: ({ root, directory }) =>
      root.graph('POST', `/groups/${directory.groupIds.foo}/members/$ref`, {
        '@odata.id': `https://graph.microsoft.com/v1.0/directoryObjects/${directory.rootServicePrincipalId}`,
      }),
    status: 400,
    code: 'Request_BadRequest',
    message: /not of this directory/,
  },
  {
    name: 'a group that is not there',
    ask: ({ root, directory }) =>
      root.graph(
        'POST',
        `/groups/${nobody}/members/$ref`,
        member(directory, directory.rootServicePrincipalId),
      ),
    status: 404,
    code: 'Request_ResourceNotFound',
    message: missing(nobody),
  },
  {
    name: 'the removal of no member',
    ask: ({ root, directory }) =>
      root.graph('DELETE', `/groups/${directory.groupIds.foo}/members/${nobody}/$ref`),
    status: 404,
    code: 'Request_ResourceNotFound',
    message: missing(nobody),
  },
  {
    name: 'the removal of a member without $ref',
    ask: ({ root, directory }) => root.graph('DELETE', `/groups/${directory.groupIds.foo}/members/${nobody}`),
    status: 400,
    code: 'SimulatorRefused',
    message: /\$ref/,
  },
  {
    name: 'a purge of what was not deleted',
    ask: ({ root, directory }) =>
      root.graph('DELETE', `/directory/deletedItems/${directory.rootApplicationId}`),
    status: 404,
    code: 'Request_ResourceNotFound',
    message: /does not exist/,
  },
  {
    name: 'a filter cut short by an unescaped &',
    ask: ({ root }) => root.graph('GET', "/groups?$filter=displayName%20eq%20'a&b'"),
    status: 400,
    code: 'BadRequest',
    message: /^Invalid filter clause/,
  },
  {
    name: 'a page that is too long',
    ask: ({ root }) => root.graph('GET', '/groups?$top=1000'),
    status: 400,
    code: 'Request_BadRequest',
    message: /page size/,
  },
  {
    name: 'a body that is not an object',
    ask: ({ root }) => root.graph('POST', '/applications', ['x']),
    status: 400,
    code: 'BadRequest',
    message: /Unable to read JSON/,
  },
  {
    name: 'a path nobody knows',
    ask: ({ root }) => root.graph('GET', '/users'),
    status: 400,
    code: 'BadRequest',
    message: /segment/,
  },
  {
    name: 'no token',
    ask: ({ directory }) => send(directory, 'GET', `${directory.directoryUrl}/v1.0/groups`),
    status: 401,
    code: 'InvalidAuthenticationToken',
    message: /empty/,
  },
  {
    name: 'a token of somebody else',
    ask: ({ directory }) =>
      send(directory, 'GET', `${directory.directoryUrl}/v1.0/groups`, { token: 'a.b.c' }),
    status: 401,
    code: 'InvalidAuthenticationToken',
    message: /JWT/,
  },
  {
    name: 'a token for the resource manager',
    ask: ({ directory, root }) =>
      send(directory, 'GET', `${directory.directoryUrl}/v1.0/groups`, { token: root.resourceManagerToken }),
    status: 401,
    code: 'InvalidAuthenticationToken',
    message: /audience/,
  },
]

test.each(refusals)('$name: $status $code', async ({ ask, status, code, message }) => {
  await using directory = await startDirectory()
  const root = await actAs(directory)

  const answer = await ask({ directory, root })

  expect(answer).toMatchObject({
    status,
    body: {
      error: { code, message: expect.stringMatching(message), innerError: { date: expect.any(String) } },
    },
  })
  expect(answer.headers['request-id']).toMatch(/^[0-9a-f-]{36}$/)
})

test('a token works until it expires', async () => {
  const clock = new FakeClock()
  await using directory = await startDirectory({ now: () => clock.now() })
  const root = await actAs(directory)

  clock.advance(3598)
  const before = await root.graph('GET', '/groups')
  clock.advance(2)
  const after = await root.graph('GET', '/groups')

  expect(before.status).toBe(200)
  expect(after).toMatchObject({ status: 401, body: { error: { code: 'InvalidAuthenticationToken' } } })
})

test.each([
  {
    name: 'a full directory',
    settings: { quotas: { directoryObjects: 8 } },
    status: 403,
    code: 'Directory_QuotaExceeded',
    path: '/applications',
    json: { displayName: 'x' },
  },
  {
    name: 'a full application',
    settings: { quotas: { passwordsPerApplication: 1 } },
    status: 400,
    code: 'Directory_ResourceSizeExceeded',
    path: '',
    json: {},
  },
  {
    name: 'a short policy',
    settings: { maximumSecretLifetimeSeconds: 3600 },
    status: 400,
    code: 'CredentialInvalidLifetimeAsPerAppPolicy',
    path: '',
    json: {},
  },
  {
    name: 'a policy against secrets',
    settings: { forbidPasswords: true },
    status: 400,
    code: 'CredentialTypeNotAllowedAsPerAppPolicy',
    path: '',
    json: {},
  },
  {
    name: 'a tenant that wants to know whose an application is',
    settings: { requireServiceManagementReference: true },
    status: 400,
    code: 'ServiceManagementReferenceRequired',
    path: '/applications',
    json: { displayName: 'x' },
  },
])('$name: $status $code', async ({ settings, status, code, path, json }) => {
  await using directory = await startDirectory({ settings })
  const root = await actAs(directory)
  const application = directory.admin.addApplication({ displayName: 'full' })
  directory.admin.addPassword(application.id)

  const answer = await root.graph(
    'POST',
    path === '' ? `/applications/${application.id}/addPassword` : path,
    json,
  )

  expect(answer).toMatchObject({ status, body: { error: { code } } })
  if (code === 'Directory_ResourceSizeExceeded')
    expect(answer.raw).toContain('size of the object has exceeded its limit')
})

test.each([
  { lockServicePrincipals: 'never' as const, asked: undefined, isLocked: false },
  { lockServicePrincipals: 'by-default' as const, asked: undefined, isLocked: true },
  { lockServicePrincipals: 'by-default' as const, asked: { isEnabled: false }, isLocked: false },
  {
    lockServicePrincipals: 'never' as const,
    asked: { isEnabled: true, allProperties: true },
    isLocked: true,
  },
  { lockServicePrincipals: 'always' as const, asked: { isEnabled: false }, isLocked: true },
])(
  'locks $lockServicePrincipals: an application that asks for $asked is locked: $isLocked',
  async ({ lockServicePrincipals, asked, isLocked }) => {
    await using directory = await startDirectory({ settings: { lockServicePrincipals } })
    const root = await actAs(directory)
    const json = { displayName: 'x', ...(asked && { servicePrincipalLockConfiguration: asked }) }
    const { id, appId } = (await root.graph('POST', '/applications', json)).body
    const principal = (await root.graph('POST', '/servicePrincipals', { appId })).body.id

    const added = await root.graph('POST', `/servicePrincipals/${principal}/addPassword`, {})

    if (isLocked)
      expect(added).toMatchObject({
        status: 400,
        body: { error: { code: 'CannotUpdateLockedServicePrincipalProperty' } },
      })
    else expect(added.status).toBe(200)
    expect((await root.graph('POST', `/applications/${id}/addPassword`, {})).status).toBe(200)
  },
)

test('an application takes a service management reference that is a GUID', async () => {
  await using directory = await startDirectory({ settings: { requireServiceManagementReference: true } })
  const root = await actAs(directory)
  const make = (serviceManagementReference: string) =>
    root.graph('POST', '/applications', { displayName: 'x', serviceManagementReference })

  expect((await make('my team')).status).toBe(400)
  expect(await make(nobody)).toMatchObject({ status: 201, body: { serviceManagementReference: nobody } })
})

const groupPermissions = ['GroupMember.ReadWrite.All', 'Application.ReadWrite.All']

test.each([
  { kind: 'assigned' as const, permissions: ['GroupMember.ReadWrite.All'], add: 403, remove: 404 },
  {
    kind: 'assigned' as const,
    permissions: ['GroupMember.ReadWrite.All', 'Application.ReadWrite.OwnedBy'],
    add: 403,
    remove: 404,
  },
  { kind: 'assigned' as const, permissions: ['Application.ReadWrite.All'], add: 403, remove: 403 },
  { kind: 'assigned' as const, permissions: groupPermissions, add: 204, remove: 404 },
  { kind: 'role-assignable' as const, permissions: groupPermissions, add: 403, remove: 403 },
  {
    kind: 'role-assignable' as const,
    permissions: [...groupPermissions, 'RoleManagement.ReadWrite.Directory'],
    add: 204,
    remove: 404,
  },
  { kind: 'dynamic' as const, permissions: groupPermissions, add: 403, remove: 403 },
  { kind: 'on-premises' as const, permissions: groupPermissions, add: 400, remove: 400 },
])(
  'in a group of kind $kind with $permissions, adding a member is $add and removing a non-member is $remove',
  async ({ kind, permissions, add, remove }) => {
    await using directory = await startDirectory({ settings: { directoryPermissions: permissions } })
    const root = await actAs(directory)
    const { id } = directory.admin.addGroup('group', kind)
    const { servicePrincipalId } = directory.admin.addApplication({ displayName: 'member' })
    const reference = { '@odata.id': `${directory.directoryUrl}/v1.0/directoryObjects/${servicePrincipalId}` }

    expect((await root.graph('POST', `/groups/${id}/members/$ref`, reference)).status).toBe(add)
    expect((await root.graph('DELETE', `/groups/${id}/members/${nobody}/$ref`)).status).toBe(remove)
  },
)

test('the owners of an application are its creator and those added', async () => {
  await using directory = await startDirectory()
  const root = await actAs(directory)
  const { id } = (await root.graph('POST', '/applications', { displayName: 'own' })).body
  const other = directory.admin.addApplication({ displayName: 'other' })
  directory.admin.addOwner(String(id), other.servicePrincipalId)

  const owners = await root.graph('GET', `/applications/${id}/owners`)

  expect(owners.body).toMatchObject({
    value: [{ id: directory.rootServicePrincipalId }, { id: other.servicePrincipalId }],
  })
})

test.each(['AzureADandPersonalMicrosoftAccount', 'PersonalMicrosoftAccount'])(
  'with the audience %s an application holds two secrets',
  async (signInAudience) => {
    await using directory = await startDirectory()
    const root = await actAs(directory)
    const { id } = (await root.graph('POST', '/applications', { displayName: 'x', signInAudience })).body
    const add = () => root.graph('POST', `/applications/${id}/addPassword`)

    const answers = [await add(), await add(), await add()]

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 400])
    expect(answers[2]?.raw).toContain('You can only add a maximum of 2 encrypted credentials')
  },
)

test('the organization shows its quota on request, and deleted objects count a quarter', async () => {
  await using directory = await startDirectory({ settings: { quotas: { directoryObjects: 500 } } })
  const root = await actAs(directory)
  const used = async () =>
    itemsOf(await root.graph('GET', '/organization?$select=directorySizeQuota'))[0]?.directorySizeQuota
  const plain = itemsOf(await root.graph('GET', '/organization'))[0]

  const before = await used()
  const made = [await makeCredential(root), await makeCredential(root)]
  const between = await used()
  for (const { id } of made) await root.graph('DELETE', `/applications/${id}`)
  const after = await used()

  expect(plain).toMatchObject({ id: directory.tenantId })
  expect(plain).not.toHaveProperty('directorySizeQuota')
  expect([before, between, after]).toEqual([6, 10, 7].map((count) => ({ used: count, total: 500 })))
})

test('a list continues at an absolute address, and misses nothing while objects are deleted', async () => {
  await using directory = await startDirectory({ settings: { pageSize: 2 } })
  const root = await actAs(directory)
  const ids: unknown[] = []
  for (const displayName of ['a', 'b', 'c', 'd', 'e'])
    ids.push((await root.graph('POST', '/applications', { displayName, tags: ['mine'] })).body.id)

  const first = await root.graph('GET', filterPath('/applications', "tags/any(t:t eq 'mine')"))
  await root.graph('DELETE', `/applications/${ids[0]}`)
  const second = await send(directory, 'GET', String(first.body['@odata.nextLink']), {
    token: root.directoryToken,
  })
  const third = await send(directory, 'GET', String(second.body['@odata.nextLink']), {
    token: root.directoryToken,
  })

  expect(String(first.body['@odata.nextLink'])).toMatch(
    new RegExp(`^${directory.directoryUrl}/v1\\.0/applications\\?`),
  )
  expect([first, second, third].flatMap(itemsOf).map(({ id }) => id)).toEqual(ids)
  expect(third.body).not.toHaveProperty('@odata.nextLink')
})

test('$select omits other fields, and $top sets the page size', async () => {
  await using directory = await startDirectory()
  const root = await actAs(directory)

  const { body } = await root.graph('GET', '/groups?$select=displayName&$top=1')

  expect(body.value).toEqual([{ displayName: 'foo' }])
})

type Permitted = {
  name: string
  permissions: 'All' | 'OwnedBy' | 'None' | string[]
  ask(scene: Scene & { own: string; foreign: string }): Promise<Answer>
  status: number
}

const add = (id: string) => `/applications/${id}/addPassword`
const permitted: Permitted[] = [
  {
    name: 'All changes any application',
    permissions: 'All',
    ask: ({ root, foreign }) => root.graph('POST', add(foreign)),
    status: 200,
  },
  {
    name: 'OwnedBy changes what it made',
    permissions: 'OwnedBy',
    ask: ({ root, own }) => root.graph('POST', add(own)),
    status: 200,
  },
  {
    name: 'OwnedBy does not change what it did not make',
    permissions: 'OwnedBy',
    ask: ({ root, foreign }) => root.graph('POST', add(foreign)),
    status: 403,
  },
  {
    name: 'OwnedBy is not enough for its own application',
    permissions: 'OwnedBy',
    ask: ({ root, directory }) => root.graph('POST', add(directory.rootApplicationId)),
    status: 403,
  },
  {
    name: 'OwnedBy changes an application it was made an owner of, its own too',
    permissions: 'OwnedBy',
    ask: ({ root, directory }) => {
      directory.admin.addOwner(directory.rootApplicationId, directory.rootServicePrincipalId)
      return root.graph('POST', add(directory.rootApplicationId))
    },
    status: 200,
  },
  {
    name: 'OwnedBy deletes what it made',
    permissions: 'OwnedBy',
    ask: ({ root, own }) => root.graph('DELETE', `/applications/${own}`),
    status: 204,
  },
  {
    name: 'None makes nothing',
    permissions: 'None',
    ask: ({ root }) => root.graph('POST', '/applications', { displayName: 'x' }),
    status: 403,
  },
  {
    name: 'None reads nothing',
    permissions: 'None',
    ask: ({ root, own }) => root.graph('GET', `/applications/${own}`),
    status: 403,
  },
  {
    name: 'None sees no groups',
    permissions: 'None',
    ask: ({ root }) => root.graph('GET', '/groups'),
    status: 403,
  },
  {
    name: 'None sees no organization',
    permissions: 'None',
    ask: ({ root }) => root.graph('GET', '/organization'),
    status: 403,
  },
  {
    name: 'reading groups is not changing them',
    permissions: ['Group.Read.All'],
    ask: ({ root, directory }) =>
      root.graph('DELETE', `/groups/${directory.groupIds.foo}/members/${nobody}/$ref`),
    status: 403,
  },
]

test.each(permitted)('permissions: $name', async ({ permissions, ask, status }) => {
  await using directory = await startDirectory()
  const own = String(
    (await (await actAs(directory)).graph('POST', '/applications', { displayName: 'own' })).body.id,
  )
  const foreign = directory.admin.addApplication({ displayName: 'foreign' }).id
  directory.change({ directoryPermissions: permissions })
  const root = await actAs(directory)

  const answer = await ask({ directory, root, own, foreign })

  expect(answer.status).toBe(status)
  if (status === 403)
    expect(answer.body).toMatchObject({
      error: {
        code: 'Authorization_RequestDenied',
        message: 'Insufficient privileges to complete the operation.',
      },
    })
})

test('with OwnedBy a service principal needs an application of its own', async () => {
  await using directory = await startDirectory({ settings: { directoryPermissions: 'OwnedBy' } })
  const root = await actAs(directory)
  const { appId } = directory.admin.addApplication({ displayName: 'foreign' })

  const answer = await root.graph('POST', '/servicePrincipals', { appId })

  expect(answer).toMatchObject({
    status: 403,
    body: {
      error: {
        code: 'Authorization_RequestDenied',
        message: expect.stringContaining('must in the local tenant'),
      },
    },
  })
})

test('two concurrent password changes of one application conflict if the directory is strict', async () => {
  await using directory = await startDirectory({ settings: { strictConcurrency: true } })
  const root = await actAs(directory)
  const { id } = directory.admin.addApplication({ displayName: 'shared' })
  directory.fault({ kind: 'held', operation: 'addApplicationPassword' })

  const first = root.graph('POST', add(id))
  await directory.journal.arrived('addApplicationPassword')
  const second = await root.graph('POST', add(id))
  directory.release()
  await first
  const third = await root.graph('POST', add(id))

  expect(second).toMatchObject({ status: 409, body: { error: { code: 'Directory_ConcurrencyViolation' } } })
  expect([(await first).status, third.status]).toEqual([200, 200])
})

test('the response repeats client-request-id', async () => {
  await using directory = await startDirectory()
  const { body } = await askToken(directory)
  const id = randomUUID()

  const answer = await send(directory, 'GET', `${directory.directoryUrl}/v1.0/groups/x`, {
    token: String(body.access_token),
    headers: { 'client-request-id': id },
  })

  expect(answer.headers['client-request-id']).toBe(id)
  expect(answer.body).toMatchObject({ error: { innerError: { 'client-request-id': id } } })
})
