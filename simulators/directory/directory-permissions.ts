import { ApiError } from './api-error.ts'
import type { Call } from './call.ts'
import type { Settings } from './settings.ts'
import type { Application, Group, Holder, Principal } from './tenant.ts'

const applicationWrite = ['Application.ReadWrite.All', 'Directory.ReadWrite.All']
const owned = 'Application.ReadWrite.OwnedBy'
const applicationRead = [...applicationWrite, owned, 'Application.Read.All', 'Directory.Read.All']
const groupWrite = ['GroupMember.ReadWrite.All', 'Group.ReadWrite.All', 'Directory.ReadWrite.All']
const appRoleWrite = 'AppRoleAssignment.ReadWrite.All'
const roleManagement = 'RoleManagement.ReadWrite.Directory'
const groupRead = [...groupWrite, 'GroupMember.Read.All', 'Group.Read.All', 'Directory.Read.All']
const organizationRead = [
  'Organization.Read.All',
  'Organization.ReadWrite.All',
  'Directory.Read.All',
  'Directory.ReadWrite.All',
]

/** The `roles` of the root's tokens under a permission profile. */
function rolesOf(permissions: Settings['directoryPermissions']): string[] {
  const rest = ['GroupMember.ReadWrite.All', 'Organization.Read.All', appRoleWrite]
  if (permissions === 'None') return []
  if (permissions === 'All') return ['Application.ReadWrite.All', ...rest]
  return permissions === 'OwnedBy' ? [owned, ...rest] : permissions
}

const has = ({ caller }: Call, wanted: readonly string[]) =>
  caller?.roles?.some((role) => wanted.includes(role)) === true

const insufficient = () =>
  new ApiError(403, 'Authorization_RequestDenied', 'Insufficient privileges to complete the operation.')

function need(call: Call, wanted: readonly string[]): void {
  if (!has(call, wanted)) throw insufficient()
}

/**
 * The permission checks of the directory API. As in the real service, they use the roles in the token. Each
 * throws the 403 of simulators/directory/README.md.
 */
export const mayCaller = {
  readApplications: (call: Call) => need(call, applicationRead),
  createApplication: (call: Call) => need(call, [...applicationWrite, owned]),
  /**
   * With `OwnedBy`, a caller can change only what it owns; it does not own itself unless it was made an
   * owner.
   */
  changeHolder: (call: Call, holder: Holder) => {
    if (!has(call, applicationWrite) && !(has(call, [owned]) && owns(call, holder))) throw insufficient()
  },
  readGroups: (call: Call) => need(call, groupRead),
  /**
   * Adding a service principal requires a permission for groups and one for applications. Graph:
   * group-post-members
   */
  addMember: (call: Call, group: Group) => {
    need(call, groupWrite)
    need(call, applicationWrite)
    mayChangeMembersOf(call, group)
  },
  removeMember: (call: Call, group: Group) => {
    need(call, groupWrite)
    mayChangeMembersOf(call, group)
  },
  /** Graph: serviceprincipal-post-approleassignedto */
  assignAppRole: (call: Call) => {
    need(call, [appRoleWrite])
    need(call, applicationRead)
  },
  removeAppRole: (call: Call) => need(call, [appRoleWrite]),
  readOrganization: (call: Call) => need(call, organizationRead),
}

/** For a dynamic group, the real service responds as if a permission were missing. */
function mayChangeMembersOf(call: Call, { kind }: Group): void {
  if (kind === 'role-assignable') need(call, [roleManagement])
  if (kind === 'dynamic') throw insufficient()
  if (kind !== 'on-premises') return
  const message =
    'Unable to update the specified properties for on-premises mastered Directory Sync objects or objects currently undergoing migration.'
  throw new ApiError(400, 'Request_BadRequest', message)
}

const owns = ({ caller }: Call, { ownerIds }: Holder): boolean =>
  caller !== undefined && ownerIds.includes(caller.oid)

/**
 * Whether the caller may create a service principal of this application; with `OwnedBy`, only if it owns it.
 */
export function mayMakePrincipalFor(call: Call, application: Application | undefined): boolean {
  mayCaller.createApplication(call)
  return has(call, applicationWrite) || (application !== undefined && owns(call, application))
}

/** Grants the root, or an identity of the host, the roles of the settings, from its next token on. */
export function grantRoot(principal: Principal, settings: Settings): void {
  principal.roles = rolesOf(settings.directoryPermissions)
}
