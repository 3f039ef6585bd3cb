import { z } from 'zod'
import type { Api } from './api.ts'
import { classify } from './classification.ts'
import { resourcePath } from './resource-path.ts'
import { type UpstreamCall, UpstreamError, type UpstreamOperation } from './upstream-error.ts'

/** May have a leading slash. `name` is a UUID of the caller's, so the call is safe to repeat. */
type NewRoleAssignment = { scope: string; name: string; roleDefinitionId: string; principalId: string }
export type ResourceManagerApi = ReturnType<typeof openResourceManager>

const definitionAnswer = z
  .object({ id: z.string().min(1), properties: z.object({ roleName: z.string() }) })
  .transform(({ id, properties }) => ({ id, roleName: properties.roleName }))
export type RoleDefinition = z.output<typeof definitionAnswer>
const actions = z
  .array(z.string())
  .nullish()
  .transform((list) => list ?? [])
const permissionAnswer = z.object({ actions, notActions: actions })
/** Patterns of granted and of excluded actions, as Resource Manager lists them for the caller. */
export type GrantedActions = z.output<typeof permissionAnswer>

const apiVersion = 'api-version=2022-04-01'

/**
 * Azure Resource Manager, one method per request. Throws `UpstreamError` only.
 * docs/contract/cloud.md#looking-up-roles, docs/contract/cloud.md#service-principals,
 * docs/contract/cloud.md#revocation, simulators/directory/README.md.
 */
export function openResourceManager({ get, list, ask, send }: Api, subscriptionId: string) {
  const authorization = (operation: UpstreamOperation, scope = `/subscriptions/${subscriptionId}`) =>
    `${pathOf(operation, scope)}/providers/Microsoft.Authorization`

  return {
    getRoleDefinition: async (id: string, call: UpstreamCall): Promise<RoleDefinition> => {
      const operation = 'getRoleDefinition'
      return get(operation, `${pathOf(operation, id)}?${apiVersion}`, definitionAnswer, call)
    },
    /** At a scope, by default in the configured subscription. Reads all pages. */
    findRoleDefinitions: async (
      roleName: string,
      scope: string | undefined,
      call: UpstreamCall,
    ): Promise<RoleDefinition[]> => {
      const operation = 'findRoleDefinitions'
      const filter = encodeURIComponent(`roleName eq '${roleName.replaceAll("'", "''")}'`)
      const path = `${authorization(operation, scope)}/roleDefinitions?${apiVersion}&$filter=${filter}`
      return list(operation, path, definitionAnswer, call)
    },
    putRoleAssignment: async (
      { scope, name, roleDefinitionId, principalId }: NewRoleAssignment,
      call: UpstreamCall,
    ): Promise<{ readonly id: string }> => {
      const operation = 'putRoleAssignment'
      const path = `${authorization(operation, scope)}/roleAssignments/${encodeURIComponent(name)}?${apiVersion}`
      const body = { properties: { roleDefinitionId, principalId, principalType: 'ServicePrincipal' } }
      return ask({ operation, method: 'PUT', path, body }, z.object({ id: z.string().min(1) }), call)
    },
    /** Deletes an assignment by its full id. Returns false if it did not exist (204, 404). */
    deleteRoleAssignment: async (id: string, call: UpstreamCall): Promise<boolean> => {
      const operation = 'deleteRoleAssignment'
      const path = `${pathOf(operation, id)}?${apiVersion}`
      try {
        return await send({ operation, method: 'DELETE', path }, call, ({ status }) => status !== 204)
      } catch (error) {
        if (!(error instanceof UpstreamError) || classify(error).kind !== 'done') throw error
        return false
      }
    },
    /** What the root may do at a scope, by default in the configured subscription. */
    permissions: async (scope: string | undefined, call: UpstreamCall): Promise<GrantedActions[]> => {
      const operation = 'permissions'
      return list(
        operation,
        `${authorization(operation, scope)}/permissions?${apiVersion}`,
        permissionAnswer,
        call,
      )
    },
  }
}

/** An id that cannot be a path names no object upstream. docs/contract/cloud.md#looking-up-roles */
function pathOf(operation: UpstreamOperation, text: string): string {
  const path = resourcePath(text)
  if (path !== undefined) return path
  const failure = { code: 'InvalidResourceId', text: 'not the id of a resource', status: 400 }
  throw new UpstreamError({ service: 'resource-manager', operation, ...failure })
}
