import { namespaceIdOf } from '../namespaces/suffix.ts'

/*
 * Keys of groups in the core's view. Names are keyed hashes. Ids are UUIDs, with the namespace id appended outside
 * the root namespace. Each membership has two rows, one under the entity and one under the group.
 */

/** The groups of a namespace, ordered by id. */
export const groupPrefix = (namespaceId: string): string => `group/${namespaceId}/`
export const groupKey = (id: string): string => groupPrefix(namespaceIdOf(id)) + id
/** Hash of the name → id of the group. */
export const namePrefix = (namespaceId: string): string => `group-name/${namespaceId}/`

/** The aliases at one mount: hash of the name → `AliasRow`. */
export const aliasPrefix = (namespaceId: string, mountAccessor: string): string =>
  `group-alias/${namespaceId}/${mountAccessor}/`
export const aliasIdPrefix = (namespaceId: string): string => `group-alias-id/${namespaceId}/`
/** Alias id → group id. */
export const aliasIdKey = (id: string): string => aliasIdPrefix(namespaceIdOf(id)) + id

/** Groups that have an entity as a direct member. */
export const membershipPrefix = (entityId: string): string => `entity-group/${entityId}/`
export const membershipKey = (entityId: string, groupId: string): string =>
  membershipPrefix(entityId) + groupId
/** Entities that are direct members of a group. */
export const memberPrefix = (groupId: string): string => `group-entity/${groupId}/`
export const memberKey = (groupId: string, entityId: string): string => memberPrefix(groupId) + entityId

/** Direct parents of a group. */
export const parentPrefix = (groupId: string): string => `group-parent/${groupId}/`
export const parentKey = (groupId: string, parentId: string): string => parentPrefix(groupId) + parentId
/** Direct children of a group. */
export const childPrefix = (groupId: string): string => `group-child/${groupId}/`
export const childKey = (groupId: string, childId: string): string => childPrefix(groupId) + childId

/** Number of membership changes by logins, renewals, merges and deletions of entities. */
export const changesKey = (groupId: string): string => `group-changes/${groupId}`
/**
 * Rewritten by each write that nests groups, so that the second of two concurrent writes fails and is
 * retried.
 */
export const structureKey = 'group-structure'
/** Deleted groups whose membership rows are still to be deleted. */
export const deletedGroupPrefix = 'group-gone/'
export const deletedGroupKey = (groupId: string): string => deletedGroupPrefix + groupId
