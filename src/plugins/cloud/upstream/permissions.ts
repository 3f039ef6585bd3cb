/** A need of Microsoft Graph permissions: any of these meets it, the least privileged first. */
export type Need = readonly [least: string, ...more: string[]]

const everyApplication: Need = ['Application.ReadWrite.All', 'Directory.ReadWrite.All']
const ownApplications: Need = ['Application.ReadWrite.OwnedBy', ...everyApplication]
const groupMembers: Need = ['GroupMember.ReadWrite.All', 'Group.ReadWrite.All', 'Directory.ReadWrite.All']

const readApplications: Need = ['Application.Read.All', ...ownApplications, 'Directory.Read.All']
const appRoleAssignments: Need = ['AppRoleAssignment.ReadWrite.All']

/**
 * The application permissions that the calls need in Microsoft Graph. Refusals, `config/check` and
 * docs/cloud.md#permissions-of-the-root agree with this table.
 * https://learn.microsoft.com/graph/permissions-reference
 */
export const graphNeeds = {
  own: [ownApplications],
  foreign: [everyApplication],
  /** Adding a service principal to a group needs one permission for groups and one for applications. */
  members: [groupMembers, everyApplication],
  removedMembers: [groupMembers],
  /** In addition to those for other groups. */
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
  rootApplication: [['Application.Read.All', ...ownApplications, 'Directory.Read.All']],
  organization: [['Organization.Read.All']],
  readApplications: [readApplications],
  appRoles: [appRoleAssignments, readApplications],
  removedAppRoles: [appRoleAssignments],
} as const satisfies Record<string, readonly Need[]>

const graphOperations = {
  createApplication: graphNeeds.own,
  getApplication: graphNeeds.own,
  getApplicationKeys: graphNeeds.rootApplication,
  findApplications: graphNeeds.own,
  listApplicationOwners: graphNeeds.own,
  deleteApplication: graphNeeds.own,
  purgeDeleted: graphNeeds.own,
  addApplicationPassword: graphNeeds.foreign,
  removeApplicationPassword: graphNeeds.foreign,
  addNewApplicationPassword: graphNeeds.own,
  putFederatedCredential: graphNeeds.foreign,
  deleteFederatedCredential: graphNeeds.foreign,
  listFederatedCredentials: graphNeeds.own,
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
  findResource: graphNeeds.readApplications,
  assignAppRole: graphNeeds.appRoles,
  listAppRoleAssignments: graphNeeds.readApplications,
  removeAppRole: graphNeeds.removedAppRoles,
  organization: graphNeeds.organization,
} as const satisfies Record<string, readonly Need[]>

/**
 * Actions of Resource Manager, which its refusals name too.
 * https://learn.microsoft.com/azure/role-based-access-control/permissions/management-and-governance
 */
const resourceManagerOperations = {
  getRoleDefinition: 'Microsoft.Authorization/roleDefinitions/read',
  findRoleDefinitions: 'Microsoft.Authorization/roleDefinitions/read',
  putRoleAssignment: 'Microsoft.Authorization/roleAssignments/write',
  deleteRoleAssignment: 'Microsoft.Authorization/roleAssignments/delete',
  permissions: 'Microsoft.Authorization/permissions/read',
} as const

/** The calls upstream. They decide what an error means and which permission is missing. */
export type UpstreamOperation =
  | keyof typeof graphOperations
  | keyof typeof resourceManagerOperations
  | 'token'
  | 'addKey'
  | 'removeKey'

const needsOf: Partial<Record<UpstreamOperation, readonly Need[]>> = graphOperations
const actionOf: Partial<Record<UpstreamOperation, string>> = resourceManagerOperations

/** The needs that none of the granted permissions meets. Pure. */
export const unmet = (needs: readonly Need[], granted: readonly string[]): Need[] =>
  needs.filter((need) => !need.some((permission) => granted.includes(permission)))

/** Whether `granted` has all that an operation needs; undefined: it is unknown. */
export const hasPermissions = (
  operation: UpstreamOperation,
  granted: readonly string[] | undefined,
): boolean => granted !== undefined && unmet(needsOf[operation] ?? [], granted).length === 0

/** What to grant after a refusal: what `granted` lacks, or all if that is unknown or lacks nothing. */
export function missingPermissions(
  operation: UpstreamOperation,
  { granted, isRoleAssignable }: { granted?: readonly string[] | undefined; isRoleAssignable: boolean },
): string | undefined {
  const needs = [...(needsOf[operation] ?? []), ...(isRoleAssignable ? graphNeeds.roleAssignable : [])]
  const lacking = granted === undefined ? needs : unmet(needs, granted)
  const named = (lacking.length === 0 ? needs : lacking).map(([least]) => least)
  return named.length === 0 ? actionOf[operation] : named.join(' and ')
}

/** The alternative to `Application.ReadWrite.All`. */
export const ownershipAdvice = (operation: UpstreamOperation): string | undefined =>
  needsOf[operation] === graphNeeds.foreign
    ? 'or make the service principal of the root an owner of that application, with Application.ReadWrite.OwnedBy'
    : undefined
