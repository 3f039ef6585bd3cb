import { checkAccess } from './access.ts'
import { ApiError } from './api-error.ts'
import type { ApiParts } from './api-parts.ts'
import type { Route } from './call.ts'
import { arm, listOf } from './resource-manager-answers.ts'
import { checkScope, tidyScope } from './scope.ts'
import type { RoleDefinition, Tenant } from './tenant.ts'

const provider = '/providers/Microsoft.Authorization/roleDefinitions'
const action = 'Microsoft.Authorization/roleDefinitions/read'

/** Role definitions, all of them fixtures. simulators/directory/README.md */
export function definitionRoutes({ tenant, settings }: ApiParts): Route[] {
  return [
    {
      operation: 'listRoleDefinitions',
      method: 'GET',
      path: arm(`(?<scope>.*)${provider}`),
      handle: (call) => {
        const scope = tidyScope(call.params.scope ?? '')
        checkScope(tenant, scope)
        checkAccess(tenant, call, { action, scope })
        return listOf(call, [...tenant.roleDefinitions.values()], {
          pageSize: settings().pageSize,
          show: (definition) => showDefinition(tenant, { definition, scope }),
          properties: ({ roleName }) => ({ roleName, type: 'BuiltInRole' }),
          names: ['roleName', 'type'],
        })
      },
    },
    {
      operation: 'getRoleDefinition',
      method: 'GET',
      path: arm(`(?<scope>.*)${provider}/(?<name>[^/]+)`),
      handle: (call) => {
        const scope = tidyScope(call.params.scope ?? '')
        checkScope(tenant, scope)
        // everyone can read built-in definitions
        if (scope !== '/') checkAccess(tenant, call, { action, scope })
        return {
          status: 200,
          body: showDefinition(tenant, { definition: getDefinition(tenant, call.params.name ?? ''), scope }),
        }
      },
    },
  ]
}

/** The definition with this name (a GUID). Throws 404. */
export function getDefinition({ roleDefinitions }: Tenant, name: string): RoleDefinition {
  const definition = roleDefinitions.get(name.toLowerCase())
  if (definition === undefined)
    throw new ApiError(
      404,
      'RoleDefinitionDoesNotExist',
      `The specified role definition with ID '${name.replaceAll('-', '')}' does not exist.`,
    )
  return definition
}

/**
 * A definition has an id with the subscription and one without a scope; the response has the requested one.
 */
const showDefinition = (
  { subscriptionId }: Tenant,
  { definition, scope }: { definition: RoleDefinition; scope: string },
) => ({
  id: `${scope === '/' ? '' : `/subscriptions/${subscriptionId}`}${provider}/${definition.name}`,
  type: 'Microsoft.Authorization/roleDefinitions',
  name: definition.name,
  properties: {
    roleName: definition.roleName,
    type: 'BuiltInRole',
    description: definition.description,
    assignableScopes: ['/'],
    permissions: definition.permissions,
  },
})
