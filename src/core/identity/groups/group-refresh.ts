import { entityKey } from '../identity-keys.ts'
import { foldedName } from '../same-name.ts'
import type { Group } from './group.ts'
import type { GroupLogin, GroupParts, GroupRefresh } from './group-parts.ts'
import type { Memberships } from './group-reader.ts'
import { membershipRows, unchangedEntity } from './group-write.ts'

const none: Memberships = { direct: [], inherited: [] }

/**
 * Computes the group changes of a login: the entity joins the groups that its provider names and leaves the
 * other groups with an alias at this mount. Internal groups and groups with an alias at another mount do not
 * change. Reads no storage if the mount's aliases and the entity's groups are cached.
 * docs/contract/identity.md#groups
 */
export async function groupRefresh(
  parts: GroupParts,
  login: GroupLogin,
  changed: (entityId: string) => void,
): Promise<GroupRefresh> {
  const { reader } = parts
  const aliases = await reader.aliasesOf(login.namespace, login.mountAccessor)
  const current = login.entity === 'created' ? none : await reader.membershipsOf(login.entityId)
  const { matched, wanted } = matches(aliases, login.names)
  const external = current.direct.filter(({ type }) => type === 'external')
  const leaves = external
    .filter((group) => !wanted.has(group.id) && isOfMount(group, login.mountAccessor))
    .map(({ id }) => id)
  const joins: string[] = []
  for (const id of wanted) {
    // the group of a cached alias may just have been deleted
    if (!external.some((group) => group.id === id) && (await reader.group(id)) !== undefined) joins.push(id)
  }
  const groupIds = [...wanted]
  const unchanged: GroupRefresh = {
    matched,
    groupIds,
    memberships: current,
    entries: [],
    counts: () => [],
    written: () => undefined,
  }
  if (joins.length === 0 && leaves.length === 0) return unchanged

  const direct = [...current.direct.map(({ id }) => id).filter((id) => !leaves.includes(id)), ...joins].sort()
  const touched = [...joins, ...leaves]
  const [memberships, entity] = await Promise.all([
    reader.membershipsBy(direct),
    login.entity === 'unchanged' ? parts.view.read(entityKey(login.entityId)) : undefined,
    ...touched.map((id) => reader.readCount(id)),
  ])
  if (login.entity === 'unchanged' && entity === undefined) return unchanged
  // the memberships of a new entity have no copy
  const options = login.entity === 'created' ? { isUncopied: true as const } : {}
  return {
    matched,
    groupIds,
    memberships,
    entries: [
      ...joins.flatMap((id) => membershipRows(id, login.entityId, true, options)),
      ...leaves.flatMap((id) => membershipRows(id, login.entityId, undefined, options)),
      ...(entity === undefined ? [] : [unchangedEntity(entity)]),
    ],
    counts: () => touched.map((id) => reader.countChange(id)),
    written: () => changed(login.entityId),
  }
}

/** The names of a claim that match a group alias, in folded form, and the ids of those groups. */
function matches(
  aliases: ReadonlyMap<string, string>,
  names: readonly string[],
): { matched: string[]; wanted: Set<string> } {
  const matched = new Set<string>()
  const wanted = new Set<string>()
  if (aliases.size > 0) {
    for (const name of names) {
      const folded = foldedName(name)
      const group = aliases.get(folded)
      if (group === undefined) continue
      matched.add(folded)
      wanted.add(group)
    }
  }
  return { matched: [...matched], wanted }
}

const isOfMount = ({ alias }: Group, mountAccessor: string): boolean =>
  alias === null || alias.mount_accessor === mountAccessor
