export * from './classification.ts'
export type {
  AddedPassword,
  Application,
  Group,
  PasswordCredential,
} from './directory/directory-answers.ts'
export * from './environments.ts'
export { graphNeeds, type Need, unmet } from './permissions.ts'
export type {
  GrantedActions,
  RoleDefinition,
} from './resource-manager-api.ts'
export type { Pause } from './retry.ts'
export * from './upstream.ts'
export * from './upstream-error.ts'
