import { ApiError } from './api-error.ts'
import type { Tenant } from './tenant.ts'

/** A scope as it is compared: one leading slash, no trailing one. */
export const tidyScope = (scope: string): string =>
  `/${scope
    .split('/')
    .filter((part) => part !== '')
    .join('/')}`

/** Whether what holds at `outer` holds at `inner`. Letter case does not count in resource ids. */
export function covers(outer: string, inner: string): boolean {
  const [out, into] = [outer.toLowerCase(), inner.toLowerCase()]
  return out === '/' || into === out || into.startsWith(`${out}/`)
}

/**
 * simulators/directory/README.md: 404 for a subscription or resource group that is not there. A management
 * group or the root is taken as it is.
 */
export function checkScope(tenant: Tenant, scope: string): void {
  const [kind, subscription, groupKind, group] = scope.split('/').filter((part) => part !== '')
  if (kind?.toLowerCase() !== 'subscriptions') {
    if (scope === '/' || /^\/providers\/Microsoft\.Management\/managementGroups\/[^/]+$/i.test(scope)) return
    throw new ApiError(400, 'InvalidScope', `The scope '${scope}' is not valid.`)
  }
  if (subscription?.toLowerCase() !== tenant.subscriptionId) {
    throw new ApiError(404, 'SubscriptionNotFound', `The subscription '${subscription}' could not be found.`)
  }
  if (groupKind?.toLowerCase() !== 'resourcegroups' || group === undefined) return
  const isThere = [...tenant.resourceGroups].some((name) => name.toLowerCase() === group.toLowerCase())
  if (!isThere)
    throw new ApiError(404, 'ResourceGroupNotFound', `Resource group '${group}' could not be found.`)
}
