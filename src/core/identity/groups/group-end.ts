import type { WriteOptions } from '../../../storage/storage.ts'
import type { ViewEntry } from '../../barrier/view.ts'
import { foldedName } from '../same-name.ts'
import { aliasDeletions } from './group-alias-write.ts'
import { changesKey, deletedGroupKey, groupKey, memberPrefix, structureKey } from './group-keys.ts'
import { type GroupParts, type GroupStep, groupNameKey, storedGroup } from './group-parts.ts'
import { childRows, membershipRows } from './group-write.ts'

const membersAtOnce = 500

/**
 * The write that deletes a group: its record, name, alias and relations to other groups. If it has too many
 * members for one write, their memberships are ignored from then on, and a marker makes `dropMembers` delete
 * them.
 */
export async function groupRemoval(
  parts: GroupParts,
  namespace: string,
  id: string,
): Promise<GroupStep<{ rest: boolean }> | undefined> {
  const stored = await storedGroup(parts, namespace, id)
  if (stored === undefined) return undefined
  const { group, revision } = stored
  const structure = await parts.view.read(structureKey)
  const [parents, children, members, counts] = await Promise.all([
    parts.reader.parentsOf(id),
    parts.reader.childrenOf(id),
    parts.view.listKeys(memberPrefix(id), { limit: membersAtOnce + 1 }),
    parts.view.listKeys(changesKey(id)),
  ])
  const rest = members.length > membersAtOnce
  const entries: ViewEntry[] = [
    { key: groupKey(id), value: undefined, expect: revision },
    { key: groupNameKey(parts, namespace, group.name), value: undefined },
    { key: structureKey, value: 'deletion', expect: structure?.revision ?? 'absent', isUncopied: true },
    ...counts.map((key) => ({ key, value: undefined, isUncopied: true as const })),
    ...(group.alias === null ? [] : aliasDeletions(parts, namespace, group.alias)),
    ...parents.flatMap((parent) => childRows(parent, id, undefined)),
    ...children.flatMap((child) => childRows(id, child, undefined)),
    ...(rest ? [{ key: deletedGroupKey(id), value: true }] : membershipDeletions(id, members)),
  ]
  const { alias } = group
  return {
    entries,
    result: { rest },
    written: () => {
      parts.reader.forgetChanges(id)
      if (alias !== null)
        parts.reader.aliasChanged(namespace, alias.mount_accessor, foldedName(alias.name), undefined)
    },
  }
}

/** Deletes the memberships of a deleted group, in several writes, and then its marker. Idempotent. */
export async function dropMembers({ view }: Pick<GroupParts, 'view'>, id: string): Promise<void> {
  for (;;) {
    const members = await view.listKeys(memberPrefix(id), { limit: membersAtOnce })
    const isLast = members.length < membersAtOnce
    // no copy names the group any more
    await view.write([
      ...membershipDeletions(id, members, { isUncopied: true }),
      ...(isLast ? [{ key: deletedGroupKey(id), value: undefined }] : []),
    ])
    if (isLast) return
  }
}

const membershipDeletions = (id: string, keys: readonly string[], options: WriteOptions = {}): ViewEntry[] =>
  keys.flatMap((key) => membershipRows(id, key.slice(memberPrefix(id).length), undefined, options))
