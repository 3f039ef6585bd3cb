import { refuse } from '../../../errors.ts'
import { quoted } from '../../../lib/text/go-text.ts'
import { formatTime } from '../../../lib/text/time.ts'
import type { ViewEntry } from '../../barrier/view.ts'
import { suffixOf } from '../../namespaces/suffix.ts'
import { checkRecordSize } from '../../records/stored-record.ts'
import { canonicalName } from '../canonical-name.ts'
import { isIdentityId } from '../identity-keys.ts'
import { foldedName } from '../same-name.ts'
import type { Group, GroupAlias } from './group.ts'
import { aliasIdKey, groupKey } from './group-keys.ts'
import {
  changedNow,
  type GroupParts,
  type GroupStep,
  groupAliasKey,
  groupNameKey,
  newGroup,
  type StoredGroup,
  storedGroup,
} from './group-parts.ts'
import type { AliasRow } from './group-reader.ts'

/** An API write of a group alias; without an id it creates one. docs/contract/identity.md#groups */
export type AliasWrite = {
  readonly namespace: string
  readonly id?: string | undefined
  readonly name: string
  readonly mountAccessor: string
  /** Id of the group; empty: the alias's current group, or a new external group. */
  readonly canonicalId: string
}

export type WrittenAlias = { readonly alias: GroupAlias; readonly changed: boolean }

/** The stored group with this alias id. */
export async function groupOfAlias(
  parts: GroupParts,
  namespace: string,
  aliasId: string,
): Promise<StoredGroup | undefined> {
  const id = isIdentityId(aliasId) ? await parts.view.get(aliasIdKey(aliasId)) : undefined
  return typeof id === 'string' ? storedGroup(parts, namespace, id) : undefined
}

/**
 * The write that creates, changes or moves a group alias. Throws `invalid`. docs/contract/identity.md#groups
 */
export async function aliasWrite(parts: GroupParts, write: AliasWrite): Promise<GroupStep<WrittenAlias>> {
  const { namespace, name, mountAccessor } = write
  checkRecordSize(name)
  const source = await sourceOf(parts, write)
  const known = source?.group.alias ?? undefined
  if (canonicalName(name) === '') throw refuse('invalid', 'missing alias name')
  if (mountAccessor === '') throw refuse('invalid', 'missing mount_accessor')
  const stays = write.canonicalId === '' || write.canonicalId === source?.group.id
  if (known !== undefined && stays && known.name === name && known.mount_accessor === mountAccessor) {
    return { entries: [], result: { alias: known, changed: false } }
  }
  const target = await targetOf(parts, write, source)
  checkMount(parts, write)
  const rowKey = groupAliasKey(parts, namespace, mountAccessor, name)
  const row = await parts.view.read(rowKey)
  const isOwnRow =
    row !== undefined &&
    known !== undefined &&
    rowKey === groupAliasKey(parts, namespace, known.mount_accessor, known.name)
  if (row !== undefined && !isOwnRow)
    throw refuse('invalid', 'combination of mount and group alias name is already in use')
  const before = target?.group ?? newGroup(parts, namespace, 'external')

  const now = formatTime(parts.clock.now())
  const alias: GroupAlias = {
    ...(known ?? { id: parts.random.uuid() + suffixOf(namespace), creation_time: now }),
    canonical_id: before.id,
    mount_accessor: mountAccessor,
    name,
    last_update_time: now,
  }
  const group: Group = { ...changedNow(parts, before), alias }
  const value: AliasRow = { group: group.id, name: foldedName(name) }
  const replaced = [known, target?.group.alias ?? undefined].filter((one) => one !== undefined)
  const entries: ViewEntry[] = [
    ...replaced
      .flatMap((one) => aliasDeletions(parts, namespace, one))
      .filter(({ key }) => key !== rowKey && key !== aliasIdKey(alias.id)),
    { key: groupKey(group.id), value: group, expect: target?.revision ?? 'absent' },
    { key: rowKey, value, expect: row?.revision ?? 'absent' },
    { key: aliasIdKey(alias.id), value: group.id },
  ]
  if (target === undefined)
    entries.push({ key: groupNameKey(parts, namespace, group.name), value: group.id, expect: 'absent' })
  const left = source !== undefined && source.group.id !== group.id ? source : undefined
  if (left !== undefined) entries.push(withoutAlias(parts, left))
  return {
    entries,
    result: { alias, changed: true },
    written: () => {
      for (const one of replaced)
        parts.reader.aliasChanged(namespace, one.mount_accessor, foldedName(one.name), undefined)
      parts.reader.aliasChanged(namespace, mountAccessor, value.name, group.id)
    },
  }
}

/**
 * The write that deletes a group alias. Keeps the group; each member leaves it at its next login or renewal.
 */
export async function aliasRemoval(
  parts: GroupParts,
  namespace: string,
  id: string,
): Promise<GroupStep<undefined> | undefined> {
  const stored = await groupOfAlias(parts, namespace, id)
  const alias = stored?.group.alias ?? undefined
  if (stored === undefined || alias === undefined) return undefined
  return {
    entries: [...aliasDeletions(parts, namespace, alias), withoutAlias(parts, stored)],
    result: undefined,
    written: () =>
      parts.reader.aliasChanged(namespace, alias.mount_accessor, foldedName(alias.name), undefined),
  }
}

/** Deletes the rows of an alias. */
export const aliasDeletions = (
  parts: GroupParts,
  namespace: string,
  { id, mount_accessor, name }: GroupAlias,
): ViewEntry[] => [
  { key: groupAliasKey(parts, namespace, mount_accessor, name), value: undefined },
  { key: aliasIdKey(id), value: undefined },
]

const withoutAlias = (parts: GroupParts, { group, revision }: StoredGroup): ViewEntry => ({
  key: groupKey(group.id),
  value: { ...changedNow(parts, group), alias: null },
  expect: revision,
})

async function sourceOf(parts: GroupParts, { namespace, id }: AliasWrite): Promise<StoredGroup | undefined> {
  if (id === undefined) return undefined
  if (id === '') throw refuse('invalid', 'empty group alias ID')
  const source = await groupOfAlias(parts, namespace, id)
  if (source === undefined) throw refuse('invalid', 'invalid group alias ID')
  return source
}

function checkMount(parts: GroupParts, { namespace, mountAccessor }: AliasWrite): void {
  const mount = parts.mountOf(mountAccessor)
  if (mount === undefined || mount.namespace !== namespace)
    throw refuse('invalid', `invalid mount accessor ${quoted(mountAccessor)}`)
  if (mount.local) throw refuse('invalid', `mount accessor ${quoted(mountAccessor)} is a local mount`)
}

async function targetOf(
  parts: GroupParts,
  { namespace, canonicalId }: AliasWrite,
  source: StoredGroup | undefined,
): Promise<StoredGroup | undefined> {
  if (canonicalId === '') return source
  const target = await storedGroup(parts, namespace, canonicalId)
  if (target === undefined) throw refuse('invalid', "invalid group ID given in 'canonical_id'")
  if (target.group.type === 'internal') throw refuse('invalid', "alias can't be set on an internal group")
  return target
}
