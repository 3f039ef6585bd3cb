import { ApiError } from './api-error.ts'
import type { Call } from './call.ts'
import { covers } from './scope.ts'
import type { RoleDefinition, Tenant } from './tenant.ts'

type Permission = RoleDefinition['permissions'][number]

/** The principal's permissions at a scope, from its assignments there and above. */
export function permissionsAt(tenant: Tenant, principalId: string, scope: string): Permission[] {
  return tenant
    .assignmentsOf(principalId)
    .filter((assignment) => covers(assignment.scope, scope))
    .flatMap(({ roleDefinitionName }) => tenant.roleDefinitions.get(roleDefinitionName)?.permissions ?? [])
}

/** Throws `AuthorizationFailed` unless the caller may perform the action. simulators/directory/README.md */
export function checkAccess(
  tenant: Tenant,
  call: Call,
  { action, scope }: { action: string; scope: string },
): void {
  const { appid = '', oid = '' } = call.caller ?? {}
  if (permissionsAt(tenant, oid, scope).some((permission) => allows(permission, action))) return
  const message = `The client '${appid}' with object id '${oid}' does not have authorization to perform action '${action}' over scope '${scope}' or the scope is invalid. If access was recently granted, please refresh your credentials.`
  throw new ApiError(403, 'AuthorizationFailed', message)
}

const allows = ({ actions, notActions }: Permission, action: string) =>
  actions.some((pattern) => matches(pattern, action)) &&
  !notActions.some((pattern) => matches(pattern, action))

/** `*` matches any text; case-insensitive. */
export function matches(pattern: string, action: string): boolean {
  const [first = '', ...rest] = pattern.toLowerCase().split('*')
  const text = action.toLowerCase()
  const last = rest.pop()
  if (last === undefined) return text === first
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last))
    return false
  let at = first.length
  for (const part of rest) {
    const found = text.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return at <= text.length - last.length
}
