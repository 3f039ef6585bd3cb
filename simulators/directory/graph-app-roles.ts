import { ApiError } from './api-error.ts'
import type { ApiParts } from './api-parts.ts'
import { makeAppRoleAssignment } from './app-roles.ts'
import type { Call, Reply, Route } from './call.ts'
import { hasHeard } from './consistency.ts'
import { mayCaller } from './directory-permissions.ts'
import { entityReply, getSeen, listReply, readId, resourceMissing } from './graph-answers.ts'
import type { AppRoleAssignment, Principal, Tenant } from './tenant.ts'

/** The role that stands for access without a certain role. */
const anyRole = '00000000-0000-0000-0000-000000000000'

/** App roles that service principals have at resources. simulators/directory/README.md */
export function appRoleRoutes({ tenant, settings }: ApiParts): Route[] {
  const holder = (call: Call): Principal => findPrincipal(tenant, call, call.params.id)
  const list =
    (side: 'principalId' | 'resourceId') =>
    (call: Call): Reply => {
      mayCaller.readApplications(call)
      const { id } = holder(call)
      return listReply<AppRoleAssignment>(call, {
        context: 'appRoleAssignments',
        items: [...tenant.appRoleAssignments.values()].filter((one) => one[side] === id),
        properties: ({ resourceId, principalId }) => ({ resourceId, principalId }),
        names: ['resourceId', 'principalId'],
        show: (one) => showAssignment(tenant, one),
        pageSize: settings().pageSize,
      })
    }
  return [
    {
      operation: 'assignAppRole',
      method: 'POST',
      path: /^\/v1\.0\/servicePrincipals\/(?<id>[^/]+)\/appRoleAssign(?:edTo|ments)$/,
      handle: (call) => {
        mayCaller.assignAppRole(call)
        return assign(tenant, call, holder(call))
      },
    },
    {
      operation: 'listAppRoleAssignedTo',
      method: 'GET',
      path: /^\/v1\.0\/servicePrincipals\/(?<id>[^/]+)\/appRoleAssignedTo$/,
      handle: list('resourceId'),
    },
    {
      operation: 'listAppRoleAssignments',
      method: 'GET',
      path: /^\/v1\.0\/servicePrincipals\/(?<id>[^/]+)\/appRoleAssignments$/,
      handle: list('principalId'),
    },
    {
      operation: 'deleteAppRoleAssignment',
      method: 'DELETE',
      path: /^\/v1\.0\/servicePrincipals\/(?<id>[^/]+)\/appRoleAssign(?:edTo|ments)\/(?<assignment>[^/]+)$/,
      handle: (call) => {
        mayCaller.removeAppRole(call)
        const { id } = holder(call)
        const assignment = tenant.appRoleAssignments.get(call.params.assignment ?? '')
        if (assignment === undefined || ![assignment.principalId, assignment.resourceId].includes(id))
          throw resourceMissing(call.params.assignment ?? '')
        tenant.appRoleAssignments.delete(assignment.id)
        return { status: 204 }
      },
    },
  ]
}

function findPrincipal(tenant: Tenant, call: Call, id: unknown): Principal {
  const principal = getSeen(call, tenant.principals, readId(String(id)))
  if (principal.deletedAt !== undefined) throw resourceMissing(principal.id)
  return principal
}

function assign(tenant: Tenant, call: Call, holder: Principal): Reply {
  const { principalId, resourceId, appRoleId } = call.body
  for (const [name, value] of Object.entries({ principalId, resourceId, appRoleId }))
    if (typeof value !== 'string')
      throw badRequest(`A value is required for property '${name}' of resource 'AppRoleAssignment'.`)
  const principal = findPrincipal(tenant, call, principalId)
  if (!hasHeard(call.view, principal.createdAt, 'servicePrincipalToAppRole'))
    throw resourceMissing(principal.id)
  const resource = findPrincipal(tenant, call, resourceId)
  if (holder !== principal && holder !== resource) throw resourceMissing(holder.id)
  const roleId = readId(String(appRoleId))
  const role = resource.appRoles.find(({ id }) => id === roleId)
  const isKnown =
    resource.appRoles.length === 0
      ? roleId === anyRole
      : role?.isEnabled === true && role.allowedMemberTypes.includes('Application')
  if (!isKnown) throw badRequest('Permission being assigned was not found on application', 'InvalidUpdate')
  const fields = { principalId: principal.id, resourceId: resource.id, appRoleId: roleId }
  const isThere = tenant.appRoleAssignments
    .values()
    .some(
      (one) => one.principalId === principal.id && one.resourceId === resource.id && one.appRoleId === roleId,
    )
  if (isThere) throw badRequest('Permission being assigned already exists on the object', 'InvalidUpdate')
  const made = makeAppRoleAssignment(tenant, { ...fields, createdAt: call.view.now })
  return entityReply(call, {
    status: 201,
    context: 'appRoleAssignments',
    entity: showAssignment(tenant, made),
  })
}

const showAssignment = (tenant: Tenant, one: AppRoleAssignment) => ({
  id: one.id,
  deletedDateTime: null,
  appRoleId: one.appRoleId,
  createdDateTime: new Date(one.createdAt).toISOString(),
  principalDisplayName: tenant.principals.get(one.principalId)?.displayName ?? null,
  principalId: one.principalId,
  principalType: 'ServicePrincipal',
  resourceDisplayName: tenant.principals.get(one.resourceId)?.displayName ?? null,
  resourceId: one.resourceId,
})

const badRequest = (message: string, detail?: string) =>
  new ApiError(400, 'Request_BadRequest', message, {
    ...(detail !== undefined && { details: [{ code: detail, message }] }),
  })
