import { decodeJwt } from 'jose'
import { afterAll, afterEach, expect, test } from 'vitest'
import { startDirectory } from '../../../simulators/directory/start-directory.ts'
import { actAs, askToken, itemsOf, makeCredential } from './client.ts'

const directory = await startDirectory()
afterAll(() => directory[Symbol.asyncDispose]())
afterEach(() =>
  directory.change({ directoryPermissions: 'All', delaySeconds: { servicePrincipalToAppRole: 0 } }),
)
const root = await actAs(directory)
const graphAppId = '00000003-0000-0000-c000-000000000000'

type Resource = { id: string; appRoles: { id: string; value: string }[] }
const resourceOf = async (appId: string): Promise<Resource> => {
  const { raw } = await root.graph(
    'GET',
    `/servicePrincipals(appId='${appId}')?$select=id,appId,displayName,appRoles`,
  )
  return JSON.parse(raw)
}
const orders = await resourceOf(directory.orders.appId)
const roleId = (value: string, { appRoles } = orders) => appRoles.find((role) => role.value === value)?.id
const assign = (principalId: string, appRoleId: string | undefined, resourceId = orders.id, actor = root) =>
  actor.graph('POST', `/servicePrincipals/${resourceId}/appRoleAssignedTo`, {
    principalId,
    resourceId,
    appRoleId,
  })
const rolesAt = async ({ appId, secret }: { appId: string; secret: string }, resource: string) =>
  decodeJwt(
    String(
      (await askToken(directory, { clientId: appId, secret, scope: `${resource}/.default` })).body
        .access_token,
    ),
  ).roles

test('the directory and another resource offer app roles; a granted one is in the next token for it', async () => {
  const made = await makeCredential(root)
  const graph = await resourceOf(graphAppId)

  const assigned = await assign(made.principalId, roleId('Orders.Read'))
  const ofDirectory = await assign(made.principalId, roleId('Group.Read.All', graph), graph.id)

  expect([assigned, ofDirectory]).toMatchObject([
    { status: 201, body: { principalId: made.principalId, resourceDisplayName: 'orders' } },
    { status: 201, body: { resourceDisplayName: 'Microsoft Graph' } },
  ])
  expect(roleId('Application.ReadWrite.All', graph)).toBe('1bfefb4e-e0b5-418b-a88f-73c46d2cc8e9')
  expect(await rolesAt(made, `api://${directory.orders.appId}`)).toEqual(['Orders.Read'])
  expect(await rolesAt(made, directory.directoryUrl)).toEqual(['Group.Read.All'])
})

test('assignments are listed from both ends and deleted', async () => {
  const { principalId } = await makeCredential(root)
  const { body } = await assign(principalId, roleId('Orders.Write'))
  const list = async (path: string) =>
    itemsOf(await root.graph('GET', `/servicePrincipals/${path}`)).map(({ id }) => id)

  const [ofPrincipal, ofResource] = [
    await list(`${principalId}/appRoleAssignments`),
    await list(`${orders.id}/appRoleAssignedTo`),
  ]
  const statuses = []
  for (let time = 0; time < 2; time += 1)
    statuses.push(
      (await root.graph('DELETE', `/servicePrincipals/${orders.id}/appRoleAssignedTo/${body.id}`)).status,
    )

  expect(ofPrincipal).toEqual([body.id])
  expect(ofResource).toContain(body.id)
  expect(statuses).toEqual([204, 404])
  expect(await list(`${principalId}/appRoleAssignments`)).toEqual([])
})

test('a role twice, a disabled one, one for people, and an unknown one are refused', async () => {
  const { principalId } = await makeCredential(root)
  await assign(principalId, roleId('Orders.Read'))

  const answers = []
  for (const id of [
    ...['Orders.Read', 'Orders.Retired', 'Orders.Approve'].map((name) => roleId(name)),
    crypto.randomUUID(),
  ])
    answers.push(await assign(principalId, id))

  expect(answers.map(({ status, body }) => [status, Object(body.error).message])).toEqual([
    [400, 'Permission being assigned already exists on the object'],
    [400, 'Permission being assigned was not found on application'],
    [400, 'Permission being assigned was not found on application'],
    [400, 'Permission being assigned was not found on application'],
  ])
})

test('a service principal that is new or unknown is not found by its name', async () => {
  directory.change({ delaySeconds: { servicePrincipalToAppRole: 30 } })
  const { principalId } = await makeCredential(root)

  const fresh = await assign(principalId, roleId('Orders.Read'))
  directory.advance(30)

  expect(fresh).toMatchObject({
    status: 404,
    body: { error: { message: expect.stringContaining(principalId) } },
  })
  expect((await assign(principalId, roleId('Orders.Read'))).status).toBe(201)
})

test('an assignment needs its own permission', async () => {
  const { principalId } = await makeCredential(root)
  directory.change({ directoryPermissions: ['Application.ReadWrite.All'] })
  const weak = await actAs(directory)

  const { status } = await assign(principalId, roleId('Orders.Read'), orders.id, weak)

  expect(status).toBe(403)
})

test('a deleted service principal has no app roles', async () => {
  const { principalId, id } = await makeCredential(root)
  const { body } = await assign(principalId, roleId('Orders.Read'))

  await root.graph('DELETE', `/applications/${id}`)

  expect(directory.inventory().map((thing) => thing.id)).not.toContain(body.id)
})
