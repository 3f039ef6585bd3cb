import type { Clock } from '../../lib/clock.ts'
import { hex, type Random } from '../../lib/random.ts'
import { formatTime } from '../../lib/time.ts'
import type { View, ViewEntry } from '../barrier/view.ts'
import type { Mount } from '../mounts/mount.ts'
import { suffixOf } from '../namespaces/suffix.ts'
import { type Group, type GroupType, readGroup } from './group.ts'
import { aliasPrefix, groupKey, namePrefix } from './group-keys.ts'
import type { Affected, GroupReader } from './group-reader.ts'
import { type IdentityKeys, isIdentityId } from './identity-keys.ts'

/** What reads and writes of groups stand on. */
export type GroupParts = {
  /** The core's view: tokens, entities and groups lie in the same one, so that a login is one write. */
  readonly view: View
  readonly clock: Clock
  readonly random: Random
  readonly keys: IdentityKeys
  readonly reader: GroupReader
  mountOf(accessor: string): Mount | undefined
  /** Is this the namespace `lower` itself, or one above it? Its entities and groups may be members of groups of `lower` then. */
  isSameOrAbove(upper: string, lower: string): boolean
}

/** A stored group with the revision a change hangs on. */
export type StoredGroup = { readonly group: Group; readonly revision: number }

/** One step of storage, and what copies in memory it makes wrong. */
export type GroupStep<Result> = {
  readonly entries: readonly ViewEntry[]
  readonly result: Result
  /** Groups whose record or parents change. */
  readonly groups: readonly string[]
  /** Entities that are concerned whoever is in the groups afterwards. */
  readonly entities: Affected
  /** Once it is written. */
  written?(): void
}

/** The group of this id, when it is one of the namespace: an id of another namespace is unknown here. */
export async function storedGroup({ view }: Pick<GroupParts, 'view'>, namespace: string, id: string): Promise<StoredGroup | undefined> {
  const record = isIdentityId(id) ? await view.read(groupKey(id)) : undefined
  if (record === undefined) return undefined
  const group = readGroup(record.value)
  return group.namespace_id === namespace ? { group, revision: record.revision } : undefined
}

export const groupNameKey = ({ keys }: Pick<GroupParts, 'keys'>, namespace: string, name: string): string =>
  namePrefix(namespace) + keys.hashOf('group', namespace, name)

export const groupAliasKey = ({ keys }: Pick<GroupParts, 'keys'>, namespace: string, mountAccessor: string, name: string): string =>
  aliasPrefix(namespace, mountAccessor) + keys.hashOf('group-alias', namespace, name)

/** A group nobody has written yet. */
export function newGroup({ clock, random }: GroupParts, namespace: string, type: GroupType): Group {
  const now = formatTime(clock.now())
  return {
    id: random.uuid() + suffixOf(namespace),
    name: `group_${hex(random, 8)}`,
    type,
    namespace_id: namespace,
    policies: [],
    metadata: null,
    alias: null,
    modify_index: 0,
    creation_time: now,
    last_update_time: now,
  }
}

/** The record of a change: one more than before. */
export const changedNow = ({ clock }: GroupParts, group: Group): Group => ({
  ...group,
  modify_index: group.modify_index + 1,
  last_update_time: formatTime(clock.now()),
})

export function union(a: Affected, b: Affected): Affected {
  return a === 'all' || b === 'all' ? 'all' : new Set([...a, ...b])
}
