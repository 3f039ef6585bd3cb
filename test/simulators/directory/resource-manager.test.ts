import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Directory } from '../../../simulators/directory/directory.ts'
import { startDirectory } from '../../../simulators/directory/start-directory.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import {
  type Actor,
  type Answer,
  actAs,
  assignmentOf,
  filterPath,
  itemsOf,
  makeCredential,
  newAssignmentPath,
  ownerId,
  readerId,
  send,
} from './client.ts'

const definitions = '/providers/Microsoft.Authorization/roleDefinitions'

test('an assignment can be created, read, created again without effect, and removed once', async () => {
  await using directory = await startDirectory()
  const root = await actAs(directory)
  const { principalId } = await makeCredential(root)
  const path = newAssignmentPath(directory)

  const made = await root.arm('PUT', path, assignmentOf(directory, principalId))
  const again = await root.arm('PUT', `/${path}`, assignmentOf(directory, principalId))
  const read = await root.arm('GET', path)
  const removed = [await root.arm('DELETE', path), await root.arm('DELETE', path)]
  const gone = await root.arm('GET', path)

  expect(made).toMatchObject({
    status: 201,
    body: {
      id: path,
      properties: {
        principalId,
        principalType: 'ServicePrincipal',
        scope: `/subscriptions/${directory.subscriptionId}/resourceGroups/web`,
      },
    },
  })
  expect([again.status, read.body.id, removed.map(({ status }) => status), gone.status]).toEqual([
    200,
    path,
    [200, 204],
    404,
  ])
  expect(gone.body).toMatchObject({ error: { code: 'RoleAssignmentNotFound' } })
})

test.each(['reader', 'Reader', 'READER'])('a definition is found by the name %s', async (name) => {
  await using directory = await startDirectory()
  const root = await actAs(directory)

  const answer = await root.arm(
    'GET',
    filterPath(`/subscriptions/${directory.subscriptionId}${definitions}`, `roleName eq '${name}'`),
  )

  expect(itemsOf(answer)).toMatchObject([
    {
      name: readerId,
      id: `/subscriptions/${directory.subscriptionId}${definitions}/${readerId}`,
      properties: { roleName: 'Reader' },
    },
  ])
})

test('a definition can be read with and without its subscription, and is shown as requested', async () => {
  await using directory = await startDirectory()
  const root = await actAs(directory)

  const answers = [
    await root.arm('GET', `${definitions}/${readerId}`),
    await root.arm('GET', `/subscriptions/${directory.subscriptionId}${definitions}/${readerId}`),
  ]

  expect(answers.map(({ body }) => body.id)).toEqual([
    `${definitions}/${readerId}`,
    `/subscriptions/${directory.subscriptionId}${definitions}/${readerId}`,
  ])
})

test('a name can belong to two definitions, and lists continue at an absolute address', async () => {
  await using directory = await startDirectory({ settings: { pageSize: 1 } })
  const root = await actAs(directory)

  const first = await root.arm(
    'GET',
    filterPath(`/subscriptions/${directory.subscriptionId}${definitions}`, "roleName eq 'multiple'"),
  )
  const second = await send(directory, 'GET', String(first.body.nextLink), {
    token: root.resourceManagerToken,
  })

  expect([...itemsOf(first), ...itemsOf(second)]).toMatchObject([
    { properties: { roleName: 'multiple' } },
    { properties: { roleName: 'multiple' } },
  ])
  expect(second.body).not.toHaveProperty('nextLink')
})

test('a name with a quote and an ampersand is found', async () => {
  await using directory = await startDirectory()
  const root = await actAs(directory)
  const { id } = directory.admin.addRoleDefinition({ roleName: "it's & that" })

  const answer = await root.arm(
    'GET',
    filterPath(`/subscriptions/${directory.subscriptionId}${definitions}`, "roleName eq 'it''s & that'"),
  )

  expect(itemsOf(answer)).toMatchObject([{ id }])
})

type Scene = { directory: Directory; root: Actor; principalId: string }
type Refusal = { name: string; ask(scene: Scene): Promise<Answer>; status: number; code: string }

const put = (
  { directory, root, principalId }: Scene,
  { path = newAssignmentPath(directory), json = assignmentOf(directory, principalId) } = {},
) => root.arm('PUT', path, json)

// simulators/directory/README.md
const refusals: Refusal[] = [
  {
    name: 'a principal that is not there',
    ask: (scene) => put(scene, { json: assignmentOf(scene.directory, randomUUID()) }),
    status: 400,
    code: 'PrincipalNotFound',
  },
  {
    name: 'the same assignment by another name',
    ask: async (scene) => {
      await put(scene)
      return put(scene)
    },
    status: 409,
    code: 'RoleAssignmentExists',
  },
  {
    name: 'another role by the same name',
    ask: async (scene) => {
      const path = newAssignmentPath(scene.directory)
      await put(scene, { path })
      return put(scene, {
        path,
        json: assignmentOf(scene.directory, scene.principalId, { definition: ownerId }),
      })
    },
    status: 400,
    code: 'RoleAssignmentUpdateNotPermitted',
  },
  {
    name: 'a type that is wrong',
    ask: (scene) => put(scene, { json: assignmentOf(scene.directory, scene.principalId, { type: 'User' }) }),
    status: 400,
    code: 'UnmatchedPrincipalType',
  },
  {
    name: 'a definition that is not there',
    ask: (scene) =>
      put(scene, { json: assignmentOf(scene.directory, scene.principalId, { definition: randomUUID() }) }),
    status: 404,
    code: 'RoleDefinitionDoesNotExist',
  },
  {
    name: 'reading a definition that is not there',
    ask: ({ root, directory }) =>
      root.arm('GET', `/subscriptions/${directory.subscriptionId}${definitions}/${randomUUID()}`),
    status: 404,
    code: 'RoleDefinitionDoesNotExist',
  },
  {
    name: 'a name that is no GUID',
    ask: (scene) => put(scene, { path: newAssignmentPath(scene.directory, 'x') }),
    status: 400,
    code: 'InvalidRoleAssignmentId',
  },
  {
    name: 'a body without a principal',
    ask: ({ root, directory }) => root.arm('PUT', newAssignmentPath(directory), {}),
    status: 400,
    code: 'InvalidRequestContent',
  },
  {
    name: 'a subscription that is not there',
    ask: ({ root }) => root.arm('GET', `/subscriptions/${randomUUID()}${definitions}`),
    status: 404,
    code: 'SubscriptionNotFound',
  },
  {
    name: 'a resource group that is not there',
    ask: (scene) => put(scene, { path: newAssignmentPath(scene.directory).replace('/web/', '/nowhere/') }),
    status: 404,
    code: 'ResourceGroupNotFound',
  },
  {
    name: 'a scope that is none',
    ask: (scene) => put(scene, { path: `/x${newAssignmentPath(scene.directory)}` }),
    status: 400,
    code: 'InvalidScope',
  },
  {
    name: 'a version that is none',
    ask: ({ directory, root }) =>
      send(directory, 'GET', `${directory.resourceManagerUrl}${definitions}?api-version=1`, {
        token: root.resourceManagerToken,
      }),
    status: 400,
    code: 'InvalidApiVersionParameter',
  },
  {
    name: 'no version',
    ask: ({ directory, root }) =>
      send(directory, 'GET', `${directory.resourceManagerUrl}${definitions}`, {
        token: root.resourceManagerToken,
      }),
    status: 400,
    code: 'MissingApiVersionParameter',
  },
  {
    name: 'no token',
    ask: ({ directory }) => send(directory, 'GET', `${directory.resourceManagerUrl}${definitions}`),
    status: 401,
    code: 'AuthenticationFailed',
  },
  {
    name: 'a token of somebody else',
    ask: ({ directory }) =>
      send(directory, 'GET', `${directory.resourceManagerUrl}${definitions}`, { token: 'x' }),
    status: 401,
    code: 'InvalidAuthenticationToken',
  },
  {
    name: 'a token for the directory',
    ask: ({ directory, root }) =>
      send(directory, 'GET', `${directory.resourceManagerUrl}${definitions}`, { token: root.directoryToken }),
    status: 401,
    code: 'InvalidAuthenticationTokenAudience',
  },
  {
    name: 'a path nobody knows',
    ask: ({ root }) => root.arm('GET', '/tenants'),
    status: 404,
    code: 'NotFound',
  },
]

test.each(refusals)('$name: $status $code', async ({ ask, status, code }) => {
  await using directory = await startDirectory()
  const root = await actAs(directory)
  const { principalId } = await makeCredential(root)

  const answer = await ask({ directory, root, principalId })

  expect(answer).toMatchObject({ status, body: { error: { code, message: expect.stringMatching(/\w/) } } })
  expect(answer.headers['x-ms-request-id']).toMatch(/^[0-9a-f-]{36}$/)
})

test('an expired token has its own error', async () => {
  const clock = new FakeClock()
  await using directory = await startDirectory({ now: () => clock.now() })
  const root = await actAs(directory)

  clock.advance(3600)
  const answer = await root.arm('GET', `${definitions}/${readerId}`)

  expect(answer).toMatchObject({ status: 401, body: { error: { code: 'ExpiredAuthenticationToken' } } })
})

test('no assignment can be created once the limit is reached', async () => {
  await using directory = await startDirectory({ settings: { quotas: { roleAssignments: 1 } } })
  const root = await actAs(directory)
  const { principalId } = await makeCredential(root)

  const answer = await root.arm('PUT', newAssignmentPath(directory), assignmentOf(directory, principalId))

  expect(answer).toMatchObject({
    status: 400,
    body: {
      error: {
        code: 'RoleAssignmentLimitExceeded',
        message: expect.stringContaining('No more role assignments can be created.'),
      },
    },
  })
})

test.each([
  { rootRoles: ['Owner'], status: 201 },
  { rootRoles: ['User Access Administrator'], status: 201 },
  { rootRoles: ['Contributor'], status: 403 },
  { rootRoles: ['Contributor', 'User Access Administrator'], status: 201 },
  { rootRoles: ['Reader'], status: 403 },
  { rootRoles: [], status: 403 },
])('a root with $rootRoles that assigns a role gets $status', async ({ rootRoles, status }) => {
  await using directory = await startDirectory({ settings: { rootRoles } })
  const root = await actAs(directory)
  const { principalId } = await makeCredential(root)

  const answer = await root.arm('PUT', newAssignmentPath(directory), assignmentOf(directory, principalId))

  expect(answer.status).toBe(status)
  if (status === 403) {
    const { rootClientId, rootServicePrincipalId, subscriptionId } = directory
    const action = `'Microsoft.Authorization/roleAssignments/write' over scope '/subscriptions/${subscriptionId}/resourceGroups/web'`
    const start = `The client '${rootClientId}' with object id '${rootServicePrincipalId}' does not have authorization to perform action ${action}`
    expect(answer.body).toMatchObject({
      error: { code: 'AuthorizationFailed', message: expect.stringContaining(start) },
    })
  }
})

test('a root with rights on one resource group looks up and assigns roles there, and nowhere else', async () => {
  await using directory = await startDirectory({ settings: { rootResourceGroups: ['web'] } })
  const root = await actAs(directory)
  const subscription = `/subscriptions/${directory.subscriptionId}`
  const listed = (scope: string) =>
    root.arm(
      'GET',
      `${scope}/providers/Microsoft.Authorization/roleDefinitions?$filter=roleName%20eq%20'Reader'`,
    )
  const permitted = (scope: string) =>
    root.arm('GET', `${scope}/providers/Microsoft.Authorization/permissions`)

  expect(await listed(`${subscription}/resourceGroups/web`)).toMatchObject({
    status: 200,
    body: { value: [{ properties: { roleName: 'Reader' } }] },
  })
  expect(await listed(subscription)).toMatchObject({
    status: 403,
    body: { error: { code: 'AuthorizationFailed' } },
  })
  expect((await listed(`${subscription}/resourceGroups/data`)).status).toBe(403)
  expect((await permitted(`${subscription}/resourceGroups/web`)).body.value).toHaveLength(1)
  expect((await permitted(subscription)).body.value).toEqual([])
})

test('permissions are what the assignments of the caller add up to', async () => {
  await using directory = await startDirectory({ settings: { rootRoles: ['Contributor', 'Reader'] } })
  const root = await actAs(directory)

  const { status, body } = await root.arm(
    'GET',
    `/subscriptions/${directory.subscriptionId}/providers/Microsoft.Authorization/permissions`,
  )

  expect(status).toBe(200)
  expect(body.value).toEqual([
    {
      actions: ['*'],
      notActions: expect.arrayContaining(['Microsoft.Authorization/*/Write']),
      dataActions: [],
      notDataActions: [],
    },
    { actions: ['*/read'], notActions: [], dataActions: [], notDataActions: [] },
  ])
})

test('a new credential reads what its role allows, and nothing once the role is removed', async () => {
  await using directory = await startDirectory()
  const root = await actAs(directory)
  const { appId, secret, principalId } = await makeCredential(root)
  const path = newAssignmentPath(directory)
  await root.arm('PUT', path, assignmentOf(directory, principalId))
  const holder = await actAs(directory, { clientId: appId, secret })
  const groups = `/subscriptions/${directory.subscriptionId}/resourceGroups`

  const allowed = await holder.arm('GET', `${groups}/web`)
  const elsewhere = await holder.arm('GET', `${groups}/data`)
  const above = await holder.arm('GET', groups)
  await root.arm('DELETE', path)
  const afterwards = await holder.arm('GET', `${groups}/web`)

  expect([allowed.status, elsewhere.status, above.status, afterwards.status]).toEqual([200, 403, 403, 403])
})

test('assignments of a deleted principal stay, and are listed by principal', async () => {
  await using directory = await startDirectory()
  const root = await actAs(directory)
  const { id, principalId } = await makeCredential(root)
  const path = newAssignmentPath(directory)
  await root.arm('PUT', path, assignmentOf(directory, principalId))

  await root.graph('DELETE', `/applications/${id}`)
  const list = await root.arm(
    'GET',
    filterPath(
      `/subscriptions/${directory.subscriptionId}/providers/Microsoft.Authorization/roleAssignments`,
      `principalId eq '${principalId}'`,
    ),
  )

  expect(itemsOf(list)).toMatchObject([{ id: path }])
})
