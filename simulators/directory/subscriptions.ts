import { checkAccess } from './access.ts'
import type { ApiParts } from './api-parts.ts'
import type { Call, Route } from './call.ts'
import { arm, listOf } from './resource-manager-answers.ts'
import { checkScope, tidyScope } from './scope.ts'

/** The subscription and its resource groups, with which tests check the permissions of a new credential. */
export function subscriptionRoutes({ tenant, settings }: ApiParts): Route[] {
  const show = (name: string) => ({
    id: `/subscriptions/${tenant.subscriptionId}/resourceGroups/${name}`,
    name,
    type: 'Microsoft.Resources/resourceGroups',
    location: 'westeurope',
    properties: { provisioningState: 'Succeeded' },
  })
  const checked = (call: Call, action: string): string => {
    const scope = tidyScope(call.path)
    checkScope(tenant, scope)
    checkAccess(tenant, call, { action, scope })
    return scope
  }
  return [
    {
      operation: 'getSubscription',
      method: 'GET',
      path: arm('/subscriptions/(?<subscription>[^/]+)'),
      handle: (call) => {
        const id = checked(call, 'Microsoft.Resources/subscriptions/read')
        return {
          status: 200,
          body: {
            id,
            subscriptionId: tenant.subscriptionId,
            tenantId: tenant.tenantId,
            displayName: 'Simulated',
            state: 'Enabled',
          },
        }
      },
    },
    {
      operation: 'listResourceGroups',
      method: 'GET',
      path: arm('/subscriptions/(?<subscription>[^/]+)/resourceGroups'),
      handle: (call) => {
        const scope = `/subscriptions/${call.params.subscription}`
        checkScope(tenant, scope)
        checkAccess(tenant, call, { action: 'Microsoft.Resources/subscriptions/resourceGroups/read', scope })
        const items = [...tenant.resourceGroups].map((name, index) => ({ seq: index + 1, name }))
        return listOf(call, items, { pageSize: settings().pageSize, show: ({ name }) => show(name) })
      },
    },
    {
      operation: 'getResourceGroup',
      method: 'GET',
      path: arm('/subscriptions/(?<subscription>[^/]+)/resourceGroups/(?<name>[^/]+)'),
      handle: (call) => {
        checked(call, 'Microsoft.Resources/subscriptions/resourceGroups/read')
        return { status: 200, body: show(call.params.name ?? '') }
      },
    },
  ]
}
