export * from './classification.ts'
export type {
  AddedPassword,
  Application,
  Group,
  NewPassword,
  PasswordCredential,
} from './directory/directory-api.ts'
export * from './environments.ts'
export { graphNeeds, type Need, unmet } from './permissions.ts'
export type {
  GrantedActions,
  RoleDefinition,
} from './resource-manager-api.ts'
export * from './upstream.ts'
export type { UpstreamCall } from './upstream-call.ts'
export * from './upstream-error.ts'
