import { ApiError } from './api-error.ts'
import type { Tenant } from './tenant.ts'

/** Normalizes a scope for comparison: one leading slash, no trailing one. */
export const tidyScope = (scope: string): string =>
  `/${scope
    .split('/')
    .filter((part) => part !== '')
    .join('/')}`

/** Whether `inner` is `outer` or below it. Resource ids are case-insensitive. */
export function covers(outer: string, inner: string): boolean {
  const [out, into] = [outer.toLowerCase(), inner.toLowerCase()]
  return out === '/' || into === out || into.startsWith(`${out}/`)
}

/**
 * Throws 404 for an unknown subscription or resource group. Does not check management groups and the root.
 * simulators/directory/README.md
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
