import type { UpstreamOperation } from './upstream-error.ts'

/** One permission of Microsoft Graph that is needed: any of these, the least first. */
export type Need = readonly [least: string, ...more: string[]]

const everyApplication: Need = ['Application.ReadWrite.All', 'Directory.ReadWrite.All']
const ownApplications: Need = ['Application.ReadWrite.OwnedBy', ...everyApplication]
const groupMembers: Need = ['GroupMember.ReadWrite.All', 'Group.ReadWrite.All', 'Directory.ReadWrite.All']

/**
 * What the calls of the engine need of Microsoft Graph, as application permissions with admin consent:
 * refusals, `config/check` and docs/cloud.md#permissions-of-the-root say the same. Graph reference: the pages
 * of each operation.
 */
export const graphNeeds = {
  /** What the root made itself, and applications it was made an owner of. */
  own: [ownApplications],
  /** Applications that it does not own. */
  foreign: [everyApplication],
  /** A service principal as a member: a permission of groups and one of applications. */
  members: [groupMembers, everyApplication],
  removedMembers: [groupMembers],
  /** Beside those of other groups. */
  roleAssignable: [['RoleManagement.ReadWrite.Directory']],
  groups: [
    [
      'GroupMember.Read.All',
      'GroupMember.ReadWrite.All',
      'Group.Read.All',
      'Group.ReadWrite.All',
      'Directory.Read.All',
      'Directory.ReadWrite.All',
    ],
  ],
  organization: [['Organization.Read.All']],
} as const satisfies Record<string, readonly Need[]>

const needsOf: Partial<Record<UpstreamOperation, readonly Need[]>> = {
  createApplication: graphNeeds.own,
  getApplication: graphNeeds.own,
  findApplications: graphNeeds.own,
  listApplicationOwners: graphNeeds.own,
  deleteApplication: graphNeeds.own,
  purgeDeleted: graphNeeds.own,
  getDeleted: graphNeeds.own,
  listDeletedApplications: graphNeeds.own,
  addApplicationPassword: graphNeeds.foreign,
  removeApplicationPassword: graphNeeds.foreign,
  addNewApplicationPassword: graphNeeds.own,
  createServicePrincipal: graphNeeds.own,
  getServicePrincipal: graphNeeds.own,
  findServicePrincipal: graphNeeds.own,
  addServicePrincipalPassword: graphNeeds.own,
  removeServicePrincipalPassword: graphNeeds.own,
  deleteServicePrincipal: graphNeeds.own,
  getGroup: graphNeeds.groups,
  findGroups: graphNeeds.groups,
  addGroupMember: graphNeeds.members,
  removeGroupMember: graphNeeds.removedMembers,
  organization: graphNeeds.organization,
}

/** Actions of Resource Manager; its refusals name them too. */
const actionOf: Partial<Record<UpstreamOperation, string>> = {
  getRoleDefinition: 'Microsoft.Authorization/roleDefinitions/read',
  findRoleDefinitions: 'Microsoft.Authorization/roleDefinitions/read',
  putRoleAssignment: 'Microsoft.Authorization/roleAssignments/write',
  deleteRoleAssignment: 'Microsoft.Authorization/roleAssignments/delete',
  permissions: 'Microsoft.Authorization/permissions/read',
}

/** Those of the needs that none of the granted permissions meets. Pure. */
export const unmet = (needs: readonly Need[], granted: readonly string[]): Need[] =>
  needs.filter((need) => !need.some((permission) => granted.includes(permission)))

/**
 * What is to be granted for an operation that was refused: what a token with the permissions `granted` lacks,
 * or all that the operation needs when that is not known, or explains nothing.
 */
export function missingPermissions(
  operation: UpstreamOperation,
  { granted, isRoleAssignable }: { granted?: readonly string[] | undefined; isRoleAssignable: boolean },
): string | undefined {
  const needs = [...(needsOf[operation] ?? []), ...(isRoleAssignable ? graphNeeds.roleAssignable : [])]
  const lacking = granted === undefined ? needs : unmet(needs, granted)
  const named = (lacking.length === 0 ? needs : lacking).map(([least]) => least)
  return named.length === 0 ? actionOf[operation] : named.join(' and ')
}

/** The way round `Application.ReadWrite.All`. */
export const ownershipAdvice = (operation: UpstreamOperation): string | undefined =>
  needsOf[operation] === graphNeeds.foreign
    ? 'or make the service principal of the root an owner of that application, with Application.ReadWrite.OwnedBy'
    : undefined
