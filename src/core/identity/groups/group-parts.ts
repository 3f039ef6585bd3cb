import type { Clock } from '../../../lib/system/clock.ts'
import { hex, type Random } from '../../../lib/system/random.ts'
import { formatTime } from '../../../lib/text/time.ts'
import type { View, ViewEntry } from '../../barrier/view.ts'
import type { Mount } from '../../mounts/mount.ts'
import { suffixOf } from '../../namespaces/suffix.ts'
import { type IdentityKeys, isIdentityId } from '../identity-keys.ts'
import { type Group, type GroupType, readGroup } from './group.ts'
import { aliasPrefix, groupKey, namePrefix } from './group-keys.ts'
import type { GroupReader, Memberships } from './group-reader.ts'

/** Dependencies of reads and writes of groups. */
export type GroupParts = {
  /** The core's view. It stores tokens, entities and groups, so that a login is one write. */
  readonly view: View
  readonly clock: Clock
  readonly random: Random
  readonly keys: IdentityKeys
  readonly reader: GroupReader
  mountOf(accessor: string): Mount | undefined
  /**
   * Whether `upper` is `lower` or one of its ancestors, whose entities and groups may join groups of `lower`.
   */
  isSameOrAbove(upper: string, lower: string): boolean
}

/** A stored group and the revision that a change must expect. */
export type StoredGroup = { readonly group: Group; readonly revision: number }

/**
 * What a write of groups changed: groups (record or parents), and entities with other memberships; `all` if
 * that is unknown.
 */
export type GroupChange =
  | { readonly groups: ReadonlySet<string>; readonly entities: ReadonlySet<string> }
  | 'all'

/** The data of a login that affects groups. */
export type GroupLogin = {
  /** Namespace of the mount and its group aliases. */
  readonly namespace: string
  readonly mountAccessor: string
  readonly entityId: string
  /** Whether the login creates the entity's record, changes it, or leaves it unchanged. */
  readonly entity: 'created' | 'changed' | 'unchanged'
  /** Group names from the provider or, for a renewal, those that matched at login. */
  readonly names: readonly string[]
}

/** The group changes of a login or renewal. docs/contract/identity.md#groups */
export type GroupRefresh = {
  /** Unique names that match a group alias; the token stores them for renewals. */
  readonly matched: readonly string[]
  /** Ids of the matched groups. */
  readonly groupIds: readonly string[]
  /** Memberships after the change. */
  readonly memberships: Memberships
  /** Empty if nothing changes. */
  readonly entries: readonly ViewEntry[]
  /** Further entries. Call it once, synchronously before the write: each call increments the counts. */
  counts(): ViewEntry[]
  /** Call after the write, or after a write with an unknown outcome. */
  written(): void
}

/** Membership entries to write with a change of entities; call `written` after the write. */
export type MembershipChange = { readonly entries: readonly ViewEntry[]; written(): void }

/** One atomic write. */
export type GroupStep<Result> = {
  readonly entries: readonly ViewEntry[]
  readonly result: Result
  /** Called after the write. */
  written?(): void
}

/** The group with this id; undefined if it belongs to another namespace. */
export async function storedGroup(
  { view }: Pick<GroupParts, 'view'>,
  namespace: string,
  id: string,
): Promise<StoredGroup | undefined> {
  const record = isIdentityId(id) ? await view.read(groupKey(id)) : undefined
  if (record === undefined) return undefined
  const group = readGroup(record.value)
  return group.namespace_id === namespace ? { group, revision: record.revision } : undefined
}

export const groupNameKey = ({ keys }: Pick<GroupParts, 'keys'>, namespace: string, name: string): string =>
  namePrefix(namespace) + keys.hashOf('group', namespace, name)

export const groupAliasKey = (
  { keys }: Pick<GroupParts, 'keys'>,
  namespace: string,
  mountAccessor: string,
  name: string,
): string => aliasPrefix(namespace, mountAccessor) + keys.hashOf('group-alias', namespace, name)

/** A new group; not stored yet. */
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

/** The group with its modification count and time updated. */
export const changedNow = ({ clock }: GroupParts, group: Group): Group => ({
  ...group,
  modify_index: group.modify_index + 1,
  last_update_time: formatTime(clock.now()),
})
