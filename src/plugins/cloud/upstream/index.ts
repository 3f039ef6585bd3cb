export * from './classification.ts'
export type {
  AddedPassword,
  Application,
  DeletedObject,
  DirectoryApi,
  Group,
  NewApplication,
  NewPassword,
  PasswordCredential,
  ServicePrincipal,
} from './directory-api.ts'
export * from './environments.ts'
export { graphNeeds, type Need, unmet } from './permissions.ts'
export { resourcePath } from './resource-path.ts'
export type {
  GrantedActions,
  NewRoleAssignment,
  ResourceManagerApi,
  RoleDefinition,
} from './resource-manager-api.ts'
export type { TokenClaims, TokenResource, TokenSource } from './token-source.ts'
export * from './upstream.ts'
export type { UpstreamCall } from './upstream-call.ts'
export * from './upstream-error.ts'
