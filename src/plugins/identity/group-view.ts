import type { EntityAlias } from '../../core/identity/entities/entity.ts'
import type { Group, GroupAlias } from '../../core/identity/groups/group.ts'
import type { GroupDetails, ListedGroup } from '../../core/identity/groups/group-store.ts'
import { briefAlias, type MountOf, mountOfAlias } from './entity-view.ts'

/** A group in the response to a read: empty lists are null. docs/contract/identity.md#groups */
export const groupData = (group: Group, details: GroupDetails, mountOf: MountOf) => ({
  id: group.id,
  name: group.name,
  type: group.type,
  policies: orNull(group.policies),
  metadata: group.metadata,
  // after a login has changed the members, an empty list stays a list
  member_entity_ids:
    details.modifyIndex > group.modify_index ? details.memberEntityIds : orNull(details.memberEntityIds),
  member_group_ids: orNull(details.memberGroupIds),
  parent_group_ids: orNull(details.parentGroupIds),
  alias: group.alias === null ? {} : aliasFields(group.alias, group.namespace_id, mountOf),
  modify_index: details.modifyIndex,
  namespace_id: group.namespace_id,
  creation_time: group.creation_time,
  last_update_time: group.last_update_time,
})

const orNull = (list: readonly string[]): readonly string[] | null => (list.length === 0 ? null : list)

const aliasFields = (alias: GroupAlias, namespaceId: string, mountOf: MountOf) => ({
  id: alias.id,
  canonical_id: alias.canonical_id,
  mount_accessor: alias.mount_accessor,
  ...mountOfAlias(mountOf, alias.mount_accessor, namespaceId),
  name: alias.name,
  metadata: null,
  merged_from_canonical_ids: null,
  creation_time: alias.creation_time,
  last_update_time: alias.last_update_time,
})

/** A group alias in its own response has the form of an entity alias. docs/contract/identity.md#groups */
export const entityAliasOf = (alias: GroupAlias): EntityAlias => ({
  ...alias,
  metadata: null,
  custom_metadata: null,
  merged_from_canonical_ids: null,
  local: false,
})

/** A group in a list; `alias` only if it has one. docs/contract/identity.md#groups */
export const groupInfo = (
  { name, alias, namespace_id, num_member_entities, num_parent_groups }: ListedGroup,
  mountOf: MountOf,
) => ({
  name,
  num_member_entities,
  num_parent_groups,
  ...(alias !== null && { alias: briefAlias(alias, namespace_id, mountOf) }),
})
