import { randomUUID } from 'node:crypto'
import type { Operation } from '../../../../simulators/directory/operations.ts'
import type { Upstream, UpstreamCall } from '../../../../src/plugins/cloud/upstream/index.ts'
import type { Aimed } from './aimed.ts'

export type Prepared = {
  readonly applicationId: string
  readonly appId: string
  readonly principalId: string
  readonly groupId: string
  /** An application without a service principal. */
  readonly lonelyAppId: string
  readonly deletedId: string
  readonly definitionId: string
  readonly scope: string
  readonly assignmentId: string
  readonly keyId: string
  readonly principalKeyId: string
  readonly endDateTime: string
  readonly trustName: string
  /** A resource with two app roles: one that the principal has, and another. */
  readonly ordersAppId: string
  readonly ordersId: string
  readonly heldAppRoleId: string
  readonly unassigned: { readonly resourceId: string; readonly appRoleId: string }
}

/** What the stand-in has from its beginning, and no call changes. */
type Fixtures = Pick<Prepared, 'definitionId' | 'ordersAppId' | 'ordersId'> & {
  readonly appRoleIds: { readonly held: string; readonly unassigned: string }
}

async function findFixtures({ directory, upstream, call }: Aimed): Promise<Fixtures> {
  const [definition] = await upstream.resourceManager.findRoleDefinitions('Reader', undefined, call())
  if (definition === undefined) throw new Error('Reader is a fixture')
  const orders = await upstream.directory.findResource(directory.orders.appId, call())
  const [read, write] = orders?.appRoles ?? []
  if (orders === undefined || read === undefined || write === undefined)
    throw new Error('orders is a fixture')
  return {
    definitionId: definition.id,
    ordersAppId: directory.orders.appId,
    ordersId: orders.id,
    appRoleIds: { held: read.id, unassigned: write.id },
  }
}

/** One object of each kind that a call can be about. */
async function makeObjects(
  { directory: { admin }, upstream, clock, call }: Aimed,
  { appRoleIds, ...fixtures }: Fixtures,
): Promise<Prepared> {
  const { definitionId, ordersId } = fixtures
  const target = admin.addApplication({ displayName: 'target' })
  const principalId = target.servicePrincipalId
  const deleted = admin.addApplication({ displayName: 'deleted' })
  admin.remove(deleted.id)
  const { scope } = admin.addResourceGroup('web')
  const group = admin.addGroup(`team ${randomUUID()}`)
  const held = { resourceId: ordersId, appRoleId: appRoleIds.held }
  const assignment = { scope, name: randomUUID(), roleDefinitionId: definitionId, principalId }
  const lonely = await upstream.directory.createApplication({ displayName: 'lonely' }, call())
  await upstream.directory.addGroupMember(group.id, principalId, call())
  return {
    ...fixtures,
    applicationId: target.id,
    appId: target.appId,
    principalId,
    groupId: group.id,
    lonelyAppId: lonely.appId,
    deletedId: deleted.id,
    scope,
    assignmentId: (await upstream.resourceManager.putRoleAssignment(assignment, call())).id,
    keyId: admin.addPassword(target.id).keyId,
    principalKeyId: admin.addPassword(principalId).keyId,
    endDateTime: new Date(clock.now() + 3_600_000).toISOString(),
    trustName: admin.addTrust(target.id, { issuer: 'https://gate', subject: 'other' }).name,
    heldAppRoleId: await upstream.directory.assignAppRole(principalId, held, call()),
    unassigned: { resourceId: ordersId, appRoleId: appRoleIds.unassigned },
  }
}

/** Objects for one call after the other: new ones for each call that changes some. */
export function objectsFor(aimed: Aimed): (operation: Operation) => Promise<Prepared> {
  let fixtures: Fixtures | undefined
  let unchanged: Prepared | undefined
  return async (operation) => {
    fixtures ??= await findFixtures(aimed)
    if (!/^(?:get|list)/.test(operation)) return makeObjects(aimed, fixtures)
    unchanged ??= await makeObjects(aimed, fixtures)
    // signs in if the test before has used up a token
    await aimed.upstream.directory.organization(aimed.call())
    await aimed.upstream.resourceManager.permissions(undefined, aimed.call())
    return unchanged
  }
}

export type CallCase = {
  readonly name: string
  /** The stand-in's name for the operation. */
  readonly operation: Operation
  readonly service: 'directory' | 'resource-manager'
  /** A creation that must not be repeated blindly. */
  readonly creates?: true
  run(upstream: Upstream, prepared: Prepared, call: UpstreamCall): Promise<unknown>
}

const directory = 'directory' as const
const manager = 'resource-manager' as const

/** All calls of the client. */
export const everyCall: readonly CallCase[] = [
  {
    name: 'createApplication',
    operation: 'createApplication',
    service: directory,
    creates: true,
    run: (upstream, _, call) => upstream.directory.createApplication({ displayName: 'new' }, call),
  },
  {
    name: 'getApplication',
    operation: 'getApplication',
    service: directory,
    run: (upstream, { applicationId }, call) => upstream.directory.getApplication(applicationId, call),
  },
  {
    name: 'findApplications',
    operation: 'listApplications',
    service: directory,
    run: (upstream, { appId }, call) => upstream.directory.findApplications({ appId }, call),
  },
  {
    name: 'deleteApplication',
    operation: 'deleteApplication',
    service: directory,
    run: (upstream, { applicationId }, call) => upstream.directory.deleteApplication(applicationId, call),
  },
  {
    name: 'purgeDeleted',
    operation: 'purgeDeleted',
    service: directory,
    run: (upstream, { deletedId }, call) => upstream.directory.purgeDeleted(deletedId, call),
  },
  {
    name: 'addApplicationPassword',
    operation: 'addApplicationPassword',
    service: directory,
    creates: true,
    run: (upstream, { applicationId, endDateTime }, call) =>
      upstream.directory.addApplicationPassword(applicationId, { displayName: 'x', endDateTime }, call),
  },
  {
    name: 'removeApplicationPassword',
    operation: 'removeApplicationPassword',
    service: directory,
    run: (upstream, { applicationId, keyId }, call) =>
      upstream.directory.removeApplicationPassword(applicationId, keyId, call),
  },
  {
    name: 'createServicePrincipal',
    operation: 'createServicePrincipal',
    service: directory,
    run: (upstream, { lonelyAppId }, call) => upstream.directory.createServicePrincipal(lonelyAppId, call),
  },
  {
    name: 'getServicePrincipal',
    operation: 'getServicePrincipal',
    service: directory,
    run: (upstream, { principalId }, call) => upstream.directory.getServicePrincipal(principalId, call),
  },
  {
    name: 'findServicePrincipal',
    operation: 'getServicePrincipal',
    service: directory,
    run: (upstream, { appId }, call) => upstream.directory.findServicePrincipal(appId, call),
  },
  {
    name: 'addServicePrincipalPassword',
    operation: 'addServicePrincipalPassword',
    service: directory,
    creates: true,
    run: (upstream, { principalId, endDateTime }, call) =>
      upstream.directory.addServicePrincipalPassword(principalId, { displayName: 'x', endDateTime }, call),
  },
  {
    name: 'removeServicePrincipalPassword',
    operation: 'removeServicePrincipalPassword',
    service: directory,
    run: (upstream, { principalId, principalKeyId }, call) =>
      upstream.directory.removeServicePrincipalPassword(principalId, principalKeyId, call),
  },
  {
    name: 'deleteServicePrincipal',
    operation: 'deleteServicePrincipal',
    service: directory,
    run: (upstream, { principalId }, call) => upstream.directory.deleteServicePrincipal(principalId, call),
  },
  {
    name: 'getGroup',
    operation: 'getGroup',
    service: directory,
    run: (upstream, { groupId }, call) => upstream.directory.getGroup(groupId, call),
  },
  {
    name: 'findGroups',
    operation: 'listGroups',
    service: directory,
    run: (upstream, _, call) => upstream.directory.findGroups('foo', call),
  },
  {
    name: 'addGroupMember',
    operation: 'addGroupMember',
    service: directory,
    run: (upstream, { groupId, principalId }, call) =>
      upstream.directory.addGroupMember(groupId, principalId, call),
  },
  {
    name: 'removeGroupMember',
    operation: 'removeGroupMember',
    service: directory,
    run: (upstream, { groupId, principalId }, call) =>
      upstream.directory.removeGroupMember(groupId, principalId, call),
  },
  {
    name: 'putFederatedCredential',
    operation: 'updateFederatedCredential',
    service: directory,
    run: (upstream, { applicationId }, call) =>
      upstream.directory.putFederatedCredential(
        applicationId,
        { name: 'gatehouse', issuer: 'https://gate', subject: 'mount', audiences: ['api://cloud'] },
        call,
      ),
  },
  {
    name: 'deleteFederatedCredential',
    operation: 'deleteFederatedCredential',
    service: directory,
    run: (upstream, { applicationId, trustName }, call) =>
      upstream.directory.deleteFederatedCredential(applicationId, trustName, call),
  },
  {
    name: 'listFederatedCredentials',
    operation: 'listFederatedCredentials',
    service: directory,
    run: (upstream, { applicationId }, call) =>
      upstream.directory.listFederatedCredentials(applicationId, call),
  },
  {
    name: 'findResource',
    operation: 'getServicePrincipal',
    service: directory,
    run: (upstream, { ordersAppId }, call) => upstream.directory.findResource(ordersAppId, call),
  },
  {
    name: 'assignAppRole',
    operation: 'assignAppRole',
    service: directory,
    run: (upstream, { principalId, unassigned }, call) =>
      upstream.directory.assignAppRole(principalId, unassigned, call),
  },
  {
    name: 'listAppRoleAssignments',
    operation: 'listAppRoleAssignments',
    service: directory,
    run: (upstream, { principalId }, call) => upstream.directory.listAppRoleAssignments(principalId, call),
  },
  {
    name: 'removeAppRole',
    operation: 'deleteAppRoleAssignment',
    service: directory,
    run: (upstream, { ordersId, heldAppRoleId }, call) =>
      upstream.directory.removeAppRole(ordersId, heldAppRoleId, call),
  },
  {
    name: 'organization',
    operation: 'getOrganization',
    service: directory,
    run: (upstream, _, call) => upstream.directory.organization(call),
  },
  {
    name: 'getRoleDefinition',
    operation: 'getRoleDefinition',
    service: manager,
    run: (upstream, { definitionId }, call) => upstream.resourceManager.getRoleDefinition(definitionId, call),
  },
  {
    name: 'findRoleDefinitions',
    operation: 'listRoleDefinitions',
    service: manager,
    run: (upstream, _, call) => upstream.resourceManager.findRoleDefinitions('Reader', undefined, call),
  },
  {
    name: 'putRoleAssignment',
    operation: 'putRoleAssignment',
    service: manager,
    run: (upstream, { scope, definitionId, principalId, assignmentId }, call) =>
      upstream.resourceManager.putRoleAssignment(
        { scope, name: assignmentId.split('/').at(-1) ?? '', roleDefinitionId: definitionId, principalId },
        call,
      ),
  },
  {
    name: 'deleteRoleAssignment',
    operation: 'deleteRoleAssignment',
    service: manager,
    run: (upstream, { assignmentId }, call) =>
      upstream.resourceManager.deleteRoleAssignment(assignmentId, call),
  },
  {
    name: 'listApplicationOwners',
    operation: 'listApplicationOwners',
    service: directory,
    run: (upstream, { applicationId }, call) => upstream.directory.listApplicationOwners(applicationId, call),
  },
  {
    name: 'addNewApplicationPassword',
    operation: 'addApplicationPassword',
    service: directory,
    creates: true,
    run: (upstream, { applicationId, endDateTime }, call) =>
      upstream.directory.addNewApplicationPassword(
        applicationId,
        { displayName: 'again', endDateTime },
        call,
      ),
  },
  {
    name: 'permissions',
    operation: 'listPermissions',
    service: manager,
    run: (upstream, _, call) => upstream.resourceManager.permissions(undefined, call),
  },
]

/** The calls whose successful answer has no body. */
export const withoutBody: ReadonlySet<string> = new Set([
  'deleteApplication',
  'purgeDeleted',
  'removeApplicationPassword',
  'removeServicePrincipalPassword',
  'deleteServicePrincipal',
  'addGroupMember',
  'removeGroupMember',
  'removeAppRole',
  'deleteRoleAssignment',
  'putFederatedCredential',
  'deleteFederatedCredential',
])
