/** The names of the objects that the engine creates upstream. docs/contract/cloud.md#upstream-names */
const productPrefix = 'gatehouse'
const longestName = 256

/** The display name of an application or of a password on one. `end` makes it unique. */
export const displayNameOf = (role: string, end: string): string =>
  `${productPrefix}-${role.toLowerCase().slice(0, longestName - productPrefix.length - end.length - 2)}-${end}`

/** The tag of an application. The correlation id is that of the request that creates the application. */
export const tagOf = (mountAccessor: string, correlationId: string): string =>
  `${tagPrefixOf(mountAccessor)}${correlationId}`

export const tagPrefixOf = (mountAccessor: string): string => `${productPrefix}:${mountAccessor}:`

export const trustPrefixOf = (mountAccessor: string): string => `${productPrefix}-${mountAccessor}-`

/** The display name of a password on a service principal. */
export const principalPasswordName = (uuid: string): string => `${productPrefix}-${uuid}`

/** The display name of a rotated root secret. */
export const rootPasswordName = (mountAccessor: string, uuid: string): string =>
  `${rootPasswordPrefix(mountAccessor)}${uuid}`

export const rootPasswordPrefix = (mountAccessor: string): string =>
  `${anyRootPasswordPrefix}${mountAccessor}-`

/** The common prefix of rotated root secrets of all mounts. Secrets that an operator added do not have it. */
export const anyRootPasswordPrefix = `${productPrefix}-root-`

/** The full id of a role assignment, with one leading slash and no double slashes. */
export const assignmentId = (scope: string, name: string): string =>
  `/${[...scope.split('/'), 'providers', 'Microsoft.Authorization', 'roleAssignments', name].filter((segment) => segment !== '').join('/')}`
