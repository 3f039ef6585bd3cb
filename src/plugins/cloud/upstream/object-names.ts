/** How what the engine makes is called upstream. docs/contract/cloud.md#upstream-names */
const productPrefix = 'gatehouse'
const longestName = 256

/** Of an application, and of a password added to one: `end` makes it unique. */
export const displayNameOf = (role: string, end: string): string =>
  `${productPrefix}-${role.toLowerCase().slice(0, longestName - productPrefix.length - end.length - 2)}-${end}`

/** On every application of a mount; the correlation id is that of the request that made it. */
export const tagOf = (mountAccessor: string, correlationId: string): string =>
  `${tagPrefixOf(mountAccessor)}${correlationId}`

/** What the tags of one mount begin with. */
export const tagPrefixOf = (mountAccessor: string): string => `${productPrefix}:${mountAccessor}:`

/** Of a password on a service principal. */
export const principalPasswordName = (uuid: string): string => `${productPrefix}-${uuid}`

/** Of a rotated root secret; what a mount made begins the same. */
export const rootPasswordName = (mountAccessor: string, uuid: string): string =>
  `${rootPasswordPrefix(mountAccessor)}${uuid}`

export const rootPasswordPrefix = (mountAccessor: string): string =>
  `${anyRootPasswordPrefix}${mountAccessor}-`

/** What all of them begin with, whichever mount's: none of them was typed in by an operator. */
export const anyRootPasswordPrefix = `${productPrefix}-root-`

/**
 * Full id of a role assignment, with one slash in front and none doubled.
 * docs/contract/cloud.md#looking-up-roles
 */
export const assignmentId = (scope: string, name: string): string =>
  `/${[...scope.split('/'), 'providers', 'Microsoft.Authorization', 'roleAssignments', name].filter((segment) => segment !== '').join('/')}`
