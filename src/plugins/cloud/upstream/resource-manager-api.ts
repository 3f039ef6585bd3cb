import type { UpstreamCall } from './upstream-call.ts'

export type RoleDefinition = { readonly id: string; readonly roleName: string }
/** `scope` and ids with or without a slash in front; `name` is a UUID of the caller's, which makes the call safe to repeat. */
export type NewRoleAssignment = { scope: string; name: string; roleDefinitionId: string; principalId: string }
/** As Resource Manager lists them for the caller: patterns of actions granted, less those taken away. */
export type GrantedActions = { readonly actions: readonly string[]; readonly notActions: readonly string[] }

/** Azure Resource Manager, one method a request; throws `UpstreamError` only. Contract cloud-engine §3.4, §4.2, §4.6, §7.3. */
export type ResourceManagerApi = {
  getRoleDefinition(id: string, call: UpstreamCall): Promise<RoleDefinition>
  /** In the configured subscription, all pages. */
  findRoleDefinitions(roleName: string, call: UpstreamCall): Promise<RoleDefinition[]>
  putRoleAssignment(assignment: NewRoleAssignment, call: UpstreamCall): Promise<{ readonly id: string }>
  /** By its full id. One that is not there (204, 404) is no error. */
  deleteRoleAssignment(id: string, call: UpstreamCall): Promise<void>
  /** What the root may do in the subscription. */
  permissions(call: UpstreamCall): Promise<GrantedActions[]>
}
