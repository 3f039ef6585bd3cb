import { namespaceIdOf } from '../namespaces/suffix.ts'

/*
 * Where groups lie in the core's view. Names are keyed hashes; ids are UUIDs, outside the root with the namespace's id at the end.
 * Each membership is two rows without content, one found from either side.
 */

/** The records of a namespace, in order of their ids. */
export const groupPrefix = (namespaceId: string): string => `group/${namespaceId}/`
export const groupKey = (id: string): string => groupPrefix(namespaceIdOf(id)) + id
/** By hash of the name, the id of the group. */
export const namePrefix = (namespaceId: string): string => `group-name/${namespaceId}/`

/** The aliases at one mount: by hash of the name, an `AliasRow`. */
export const aliasPrefix = (namespaceId: string, mountAccessor: string): string => `group-alias/${namespaceId}/${mountAccessor}/`
export const aliasIdPrefix = (namespaceId: string): string => `group-alias-id/${namespaceId}/`
/** Holds the id of the group with this alias. */
export const aliasIdKey = (id: string): string => aliasIdPrefix(namespaceIdOf(id)) + id

/** Groups an entity is in directly. */
export const membershipPrefix = (entityId: string): string => `entity-group/${entityId}/`
export const membershipKey = (entityId: string, groupId: string): string => membershipPrefix(entityId) + groupId
/** Entities directly in a group. */
export const memberPrefix = (groupId: string): string => `group-entity/${groupId}/`
export const memberKey = (groupId: string, entityId: string): string => memberPrefix(groupId) + entityId

/** Groups a group is in directly. */
export const parentPrefix = (groupId: string): string => `group-parent/${groupId}/`
export const parentKey = (groupId: string, parentId: string): string => parentPrefix(groupId) + parentId
/** Groups directly in a group. */
export const childPrefix = (groupId: string): string => `group-child/${groupId}/`
export const childKey = (groupId: string, childId: string): string => childPrefix(groupId) + childId

/** How often logins and ends of entities changed who is in a group. */
export const changesKey = (groupId: string): string => `group-changes/${groupId}`
/** Rewritten by each write that puts a group into another, so that of two such writes at once the later one looks again. */
export const structureKey = 'group-structure'
/** A group that is gone and whose membership rows still go. */
export const gonePrefix = 'group-gone/'
export const goneKey = (groupId: string): string => gonePrefix + groupId
