import { namespaceIdOf } from '../../namespaces/suffix.ts'

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
export const membershipPrefix = (entityId: string): string => `${membershipsPrefix}${entityId}/`
export const membershipsPrefix = 'entity-group/'
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

/**
 * Number of membership changes by logins, renewals, merges and deletions of entities. Each server of several
 * counts its own, under its id, so that logins on different servers do not wait for each other. The counts of
 * those that are gone are added to the one without an id.
 */
export const changesKey = (groupId: string, replicaId?: string): string =>
  `group-changes/${groupId}${replicaId === undefined ? '' : `/${replicaId}`}`
/**
 * Rewritten by each write that nests groups or deletes one, so that the second of two concurrent writes fails
 * and is retried.
 */
export const structureKey = 'group-structure'
/** Deleted groups whose membership rows are still to be deleted. */
export const deletedGroupPrefix = 'group-gone/'
export const deletedGroupKey = (groupId: string): string => deletedGroupPrefix + groupId

/** The prefix of all records of groups, except memberships. */
export const groupsPrefix = 'group'

/**
 * What a write changes for those who have copies of groups: the groups whose record or parents are written,
 * the entities whose memberships are, and the mounts, as prefixes of their aliases.
 */
export type Affected = {
  readonly groups: ReadonlySet<string>
  readonly entities: ReadonlySet<string>
  readonly aliases: ReadonlySet<string>
}

/** The same while it is collected. */
type Collected = { readonly [Part in keyof Affected]: Set<string> }

export const nothingAffected = (): Collected => ({
  groups: new Set(),
  entities: new Set(),
  aliases: new Set(),
})

/** Adds what writes of these keys affect. */
export function addAffected({ groups, entities, aliases }: Collected, keys: readonly string[]): void {
  for (const key of keys) {
    const [kind, first = '', second = ''] = key.split('/')
    if (kind === 'group') groups.add(second)
    else if (kind === 'group-parent') groups.add(first)
    else if (kind === 'entity-group') entities.add(first)
    else if (kind === 'group-alias') aliases.add(aliasPrefix(first, second))
  }
}
