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

/** One object of each kind that a call can be about. */
export async function prepare({ directory, upstream, clock, call }: Aimed): Promise<Prepared> {
  const {
    id: applicationId,
    appId,
    servicePrincipalId: principalId,
  } = directory.admin.addApplication({ displayName: 'target' })
  const endDateTime = new Date(clock.now() + 3_600_000).toISOString()
  const lonely = await upstream.directory.createApplication({ displayName: 'lonely' }, call())
  const deleted = await upstream.directory.createApplication({ displayName: 'deleted' }, call())
  await upstream.directory.deleteApplication(deleted.id, call())
  const [definition] = await upstream.resourceManager.findRoleDefinitions('Reader', undefined, call())
  if (definition === undefined) throw new Error('Reader is a fixture')
  const { scope } = directory.admin.addResourceGroup('web')
  const assignment = await upstream.resourceManager.putRoleAssignment(
    { scope, name: randomUUID(), roleDefinitionId: definition.id, principalId },
    call(),
  )
  const principalPassword = await upstream.directory.addServicePrincipalPassword(
    principalId,
    { displayName: 'p', endDateTime },
    call(),
  )
  const groupId = directory.admin.addGroup(`team ${randomUUID()}`).id
  await upstream.directory.addGroupMember(groupId, principalId, call())
  const orders = await upstream.directory.findResource(directory.orders.appId, call())
  const [read, write] = orders?.appRoles ?? []
  if (orders === undefined || read === undefined || write === undefined)
    throw new Error('orders is a fixture')
  const held = { resourceId: orders.id, appRoleId: read.id }
  const heldAppRoleId = await upstream.directory.assignAppRole(principalId, held, call())
  return {
    applicationId,
    appId,
    principalId,
    groupId,
    lonelyAppId: lonely.appId,
    deletedId: deleted.id,
    definitionId: definition.id,
    scope,
    assignmentId: assignment.id,
    keyId: directory.admin.addPassword(applicationId).keyId,
    principalKeyId: principalPassword.keyId,
    endDateTime,
    trustName: directory.admin.addTrust(applicationId, { issuer: 'https://gate', subject: 'other' }).name,
    ordersAppId: directory.orders.appId,
    ordersId: orders.id,
    heldAppRoleId,
    unassigned: { resourceId: orders.id, appRoleId: write.id },
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
