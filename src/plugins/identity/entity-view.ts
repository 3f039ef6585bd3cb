import type { Entity, EntityAlias } from '../../core/identity/entities/entity.ts'
import type { Memberships } from '../../core/identity/groups/group-reader.ts'
import type { Mount } from '../../core/mounts/mount.ts'

export type MountOf = (accessor: string) => Mount | undefined

/**
 * Type and path of the mount of an alias in this namespace; empty if the mount was removed, or moved to
 * another namespace. docs/contract/identity.md#entities
 */
export function mountOfAlias(
  mountOf: MountOf,
  accessor: string,
  namespace: string,
): { mount_type?: string; mount_path?: string } {
  const mount = mountOf(accessor)
  return mount?.namespace === namespace ? { mount_type: mount.type, mount_path: mount.path } : {}
}

/** An entity in the response to a read. docs/contract/identity.md#entities */
export function entityData(entity: Entity, { direct, inherited }: Memberships, mountOf: MountOf) {
  const directIds = direct.map(({ id }) => id)
  const inheritedIds = inherited.map(({ id }) => id)
  return {
    id: entity.id,
    name: entity.name,
    metadata: entity.metadata,
    policies: entity.policies,
    disabled: entity.disabled,
    namespace_id: entity.namespace_id,
    creation_time: entity.creation_time,
    last_update_time: entity.last_update_time,
    merged_entity_ids: entity.merged_entity_ids,
    aliases: entity.aliases.map((alias) => aliasFields(alias, entity.namespace_id, mountOf)),
    group_ids: [...new Set([...directIds, ...inheritedIds])],
    direct_group_ids: directIds,
    inherited_group_ids: inheritedIds,
  }
}

const aliasFields = (alias: EntityAlias, namespace: string, mountOf: MountOf) => ({
  id: alias.id,
  canonical_id: alias.canonical_id,
  mount_accessor: alias.mount_accessor,
  ...mountOfAlias(mountOf, alias.mount_accessor, namespace),
  name: alias.name,
  metadata: alias.metadata,
  custom_metadata: alias.custom_metadata,
  merged_from_canonical_ids: alias.merged_from_canonical_ids,
  local: alias.local,
  creation_time: alias.creation_time,
  last_update_time: alias.last_update_time,
})

/** An alias in the response to a read of that alias. docs/contract/identity.md#aliases */
export const aliasData = (alias: EntityAlias, namespaceId: string, mountOf: MountOf) => ({
  ...aliasFields(alias, namespaceId, mountOf),
  namespace_id: namespaceId,
})

/** An entity in a list; `aliases` only if it has any. docs/contract/identity.md#entities */
export const entityInfo = ({ name, aliases, namespace_id }: Entity, mountOf: MountOf) => ({
  name,
  ...(aliases.length > 0 && { aliases: aliases.map((alias) => briefAlias(alias, namespace_id, mountOf)) }),
})

/** An alias in a list of those who have it. */
export const briefAlias = (
  { id, name, mount_accessor }: Pick<EntityAlias, 'id' | 'name' | 'mount_accessor'>,
  namespaceId: string,
  mountOf: MountOf,
) => ({ id, name, mount_accessor, ...mountOfAlias(mountOf, mount_accessor, namespaceId) })

/** An alias in a list. docs/contract/identity.md#aliases */
export const aliasInfo = (alias: EntityAlias, namespaceId: string, mountOf: MountOf) => ({
  name: alias.name,
  canonical_id: alias.canonical_id,
  mount_accessor: alias.mount_accessor,
  custom_metadata: alias.custom_metadata,
  metadata: alias.metadata,
  local: alias.local,
  ...mountOfAlias(mountOf, alias.mount_accessor, namespaceId),
})
