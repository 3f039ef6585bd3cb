import { checkAccess } from './access.ts'
import { ApiError } from './api-error.ts'
import type { ApiParts } from './api-parts.ts'
import type { Call, Reply, Route } from './call.ts'
import { hasHeard } from './consistency.ts'
import { arm, listOf } from './resource-manager-answers.ts'
import { getDefinition } from './role-definitions.ts'
import { checkScope, covers, tidyScope } from './scope.ts'
import type { Assignment, Principal, RoleDefinition, Tenant } from './tenant.ts'

const provider = '/providers/Microsoft.Authorization/roleAssignments'
const guid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i
const definitionPath = /^(?:\/.*)?\/providers\/Microsoft\.Authorization\/roleDefinitions\/([^/]+)$/i

/** Role assignments. simulators/directory/README.md */
export function assignmentRoutes(parts: ApiParts): Route[] {
  const { tenant, settings } = parts
  return [
    {
      operation: 'putRoleAssignment',
      method: 'PUT',
      path: arm(`(?<scope>.*)${provider}/(?<name>[^/]+)`),
      handle: (call) => put(parts, call),
    },
    {
      operation: 'getRoleAssignment',
      method: 'GET',
      path: arm(`(?<scope>.*)${provider}/(?<name>[^/]+)`),
      handle: (call) => {
        const { found, name } = find(tenant, call, 'read')
        if (found === undefined)
          throw new ApiError(404, 'RoleAssignmentNotFound', `The role assignment '${name}' is not found.`)
        return { status: 200, body: showAssignment(found) }
      },
    },
    {
      operation: 'deleteRoleAssignment',
      method: 'DELETE',
      path: arm(`(?<scope>.*)${provider}/(?<name>[^/]+)`),
      handle: (call) => {
        const { found } = find(tenant, call, 'delete')
        if (found === undefined || !hasHeard(call.view, found.createdAt, 'rightToRemoval'))
          return { status: 204 }
        tenant.removeAssignment(found)
        return { status: 200, body: showAssignment(found) }
      },
    },
    {
      operation: 'listRoleAssignments',
      method: 'GET',
      path: arm(`(?<scope>.*)${provider}`),
      handle: (call) => {
        const scope = tidyScope(call.params.scope ?? '')
        checkScope(tenant, scope)
        checkAccess(tenant, call, { action: 'Microsoft.Authorization/roleAssignments/read', scope })
        const here = [...tenant.assignments.values()].filter(
          (assignment) => covers(assignment.scope, scope) || covers(scope, assignment.scope),
        )
        const properties = ({ principalId }: Assignment) => ({ principalId })
        return listOf(call, here, {
          pageSize: settings().pageSize,
          show: showAssignment,
          properties,
          names: ['principalId'],
        })
      },
    },
  ]
}

function find(
  tenant: Tenant,
  call: Call,
  verb: 'read' | 'delete',
): { found: Assignment | undefined; name: string } {
  const scope = tidyScope(call.params.scope ?? '')
  checkScope(tenant, scope)
  checkAccess(tenant, call, { action: `Microsoft.Authorization/roleAssignments/${verb}`, scope })
  const name = call.params.name?.toLowerCase() ?? ''
  const found = tenant.assignments.get(name)
  return { found: found?.scope.toLowerCase() === scope.toLowerCase() ? found : undefined, name }
}

function put({ tenant, settings }: ApiParts, call: Call): Reply {
  const scope = tidyScope(call.params.scope ?? '')
  const name = call.params.name?.toLowerCase() ?? ''
  if (!guid.test(name))
    throw new ApiError(
      400,
      'InvalidRoleAssignmentId',
      `The role assignment ID '${call.params.name}' is not valid. The role assignment ID must be a GUID.`,
    )
  checkScope(tenant, scope)
  checkAccess(tenant, call, { action: 'Microsoft.Authorization/roleAssignments/write', scope })
  const requested = readProperties(call)
  const definition = getDefinition(
    tenant,
    definitionPath.exec(tidyScope(requested.roleDefinitionId))?.[1] ?? requested.roleDefinitionId,
  )
  checkPrincipal(tenant, call, requested)
  const wanted = { scope, definition, principalId: requested.principalId }
  const existing = tenant.assignments.get(name)
  if (existing !== undefined) {
    if (isSame(existing, wanted)) return { status: 200, body: showAssignment(existing) }
    throw new ApiError(
      400,
      'RoleAssignmentUpdateNotPermitted',
      'Tenant ID, application ID, principal ID, and scope are not allowed to be updated.',
    )
  }
  const twin = tenant.assignmentsOf(requested.principalId).find((assignment) => isSame(assignment, wanted))
  if (twin !== undefined) {
    throw new ApiError(
      409,
      'RoleAssignmentExists',
      `The role assignment already exists. The ID of the existing role assignment is ${twin.name.replaceAll('-', '')}.`,
    )
  }
  const most = settings().quotas.roleAssignments
  if (most !== null && tenant.assignments.size >= most) {
    throw new ApiError(
      400,
      'RoleAssignmentLimitExceeded',
      `No more role assignments can be created. The limit is ${most} per subscription.`,
    )
  }
  const made = tenant.addAssignment({
    name,
    scope,
    roleDefinitionName: definition.name,
    roleDefinitionId: requested.roleDefinitionId,
    principalId: requested.principalId,
    principalType: 'ServicePrincipal',
    createdAt: call.view.now,
    fixture: false,
  })
  return { status: 201, body: showAssignment(made) }
}

type Asked = { roleDefinitionId: string; principalId: string; principalType: string | undefined }

function readProperties({ body }: Call): Asked {
  const properties: Record<string, unknown> = {
    ...(typeof body.properties === 'object' ? body.properties : {}),
  }
  const { roleDefinitionId, principalId, principalType } = properties
  if (typeof roleDefinitionId !== 'string' || typeof principalId !== 'string' || !guid.test(principalId)) {
    throw new ApiError(
      400,
      'InvalidRequestContent',
      'The request content was invalid: roleDefinitionId and principalId are required.',
    )
  }
  return {
    roleDefinitionId,
    principalId: principalId.toLowerCase(),
    principalType: typeof principalType === 'string' ? principalType : undefined,
  }
}

/**
 * If the request names the principal's type, the resource manager does not check that the principal exists.
 * simulators/directory/README.md
 */
function checkPrincipal(tenant: Tenant, call: Call, { principalId, principalType }: Asked): void {
  const principal = tenant.principals.get(principalId)
  if (
    principal === undefined ||
    principal.deletedAt !== undefined ||
    (principalType === undefined && !isReplicated(call, principal))
  ) {
    const id = principalId.replaceAll('-', '')
    const message = `Principal ${id} does not exist in the directory ${tenant.tenantId}. Check that you have the correct principal ID. If you are creating this principal and then immediately assigning a role, this error might be related to a replication delay. In this case, set the role assignment principalType property to a value, such as ServicePrincipal, User, or Group.`
    throw new ApiError(400, 'PrincipalNotFound', message)
  }
  if (principalType !== undefined && principalType !== 'ServicePrincipal') {
    throw new ApiError(
      400,
      'UnmatchedPrincipalType',
      `The PrincipalId '${principalId}' has type 'ServicePrincipal', which is different from specified PrincipalType '${principalType}'.`,
    )
  }
}

const isReplicated = ({ view }: Call, { createdAt }: Principal) =>
  hasHeard(view, createdAt, 'servicePrincipalToResourceManager')

const isSame = (
  assignment: Assignment,
  wanted: { scope: string; definition: RoleDefinition; principalId: string },
) =>
  assignment.scope.toLowerCase() === wanted.scope.toLowerCase() &&
  assignment.roleDefinitionName === wanted.definition.name &&
  assignment.principalId === wanted.principalId

export const assignmentId = ({ scope, name }: Assignment) =>
  `${scope === '/' ? '' : scope}${provider}/${name}`

const showAssignment = (assignment: Assignment) => ({
  id: assignmentId(assignment),
  type: 'Microsoft.Authorization/roleAssignments',
  name: assignment.name,
  properties: {
    roleDefinitionId: assignment.roleDefinitionId,
    principalId: assignment.principalId,
    principalType: assignment.principalType,
    scope: assignment.scope,
    createdOn: new Date(assignment.createdAt).toISOString(),
  },
})
