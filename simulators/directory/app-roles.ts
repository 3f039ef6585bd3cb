import { randomBytes, randomUUID } from 'node:crypto'
import type { AppRole, AppRoleAssignment, Principal, Tenant } from './tenant.ts'

export const directoryAppId = '00000003-0000-0000-c000-000000000000'

/** Some permissions of the directory API with their real ids. */
const directoryRoles = {
  'Application.Read.All': '9a5d68dd-52b0-4cc2-bd40-abcf44ac3a30',
  'Application.ReadWrite.All': '1bfefb4e-e0b5-418b-a88f-73c46d2cc8e9',
  'Application.ReadWrite.OwnedBy': '18a4783c-866b-4cc7-a460-3d5e5662c884',
  'AppRoleAssignment.ReadWrite.All': '06b708a9-e830-4db3-a914-8e69da51d44f',
  'Directory.Read.All': '7ab1d382-f21e-4acd-a863-ba3e13f7da61',
  'Directory.ReadWrite.All': '19dbc75e-c2e2-444c-a770-ec69d8559fc7',
  'Group.Read.All': '5b567255-7703-4780-807c-7be8301ae99b',
  'GroupMember.ReadWrite.All': 'dbaae8cf-10b5-4b86-a4a1-f871c94c6695',
  'Organization.Read.All': '498476ce-e0fe-48b0-b801-37ba7e2685c6',
  'RoleManagement.ReadWrite.Directory': '9e3f62cf-ca93-4989-b6ce-bf83c28f9fe8',
  'User.Read.All': 'df021288-bdef-4463-88db-98f22de89214',
}

const makeRole = (value: string, fields: Partial<AppRole> = {}): AppRole => ({
  id: randomUUID(),
  value,
  displayName: value,
  isEnabled: true,
  allowedMemberTypes: ['Application'],
  ...fields,
})

/** The service principals of the directory API and of `orders`, an API with app roles of every kind. */
export function addResources(tenant: Tenant, createdAt: number): { directory: Principal; orders: Principal } {
  const add = (appId: string, displayName: string, appRoles: AppRole[]): Principal =>
    tenant.addPlatformPrincipal({ appId, displayName, createdAt, appRoles, fixture: true })
  return {
    directory: add(
      directoryAppId,
      'Microsoft Graph',
      Object.entries(directoryRoles).map(([value, id]) => makeRole(value, { id })),
    ),
    orders: add(randomUUID(), 'orders', [
      makeRole('Orders.Read'),
      makeRole('Orders.Write'),
      makeRole('', { displayName: 'Everything' }),
      makeRole('Orders.Retired', { isEnabled: false }),
      makeRole('Orders.Approve', { allowedMemberTypes: ['User'] }),
    ]),
  }
}

/** The values of the roles that a principal has at a resource. */
export const assignedRoles = (tenant: Tenant, { id }: Principal, resource: Principal): string[] =>
  [...tenant.appRoleAssignments.values()]
    .filter(({ principalId, resourceId }) => principalId === id && resourceId === resource.id)
    .flatMap(({ appRoleId }) => resource.appRoles.find((role) => role.id === appRoleId)?.value ?? [])

export function makeAppRoleAssignment(
  tenant: Tenant,
  fields: Omit<AppRoleAssignment, 'seq' | 'id'>,
): AppRoleAssignment {
  const assignment = { ...fields, id: randomBytes(32).toString('base64url'), seq: tenant.nextSeq() }
  tenant.appRoleAssignments.set(assignment.id, assignment)
  return assignment
}
