import { refuse } from '../../../errors.ts'
import { pagesOf } from '../../../lib/data/pages.ts'
import { quoted } from '../../../lib/text/go-text.ts'
import type { WriteOptions } from '../../../storage/storage.ts'
import type { ViewEntry, ViewRecord } from '../../barrier/view.ts'
import { namespaceIdOf } from '../../namespaces/suffix.ts'
import { writeAttempts } from '../../records/change.ts'
import { checkRecordSize } from '../../records/stored-record.ts'
import { canonicalName } from '../canonical-name.ts'
import { entityKey, isIdentityId } from '../identity-keys.ts'
import { metadataProblem } from '../metadata.ts'
import { identityPolicies } from '../policies.ts'
import type { Group, GroupType } from './group.ts'
import { childKey, groupKey, memberKey, membershipKey, parentKey, structureKey } from './group-keys.ts'
import {
  changedNow,
  type GroupParts,
  type GroupStep,
  groupNameKey,
  newGroup,
  type StoredGroup,
  storedGroup,
} from './group-parts.ts'

/** Fields of an API write of a group; absent fields are unchanged. docs/contract/identity.md#groups */
type GroupFields = {
  readonly name?: string | undefined
  readonly type?: string | undefined
  readonly metadata?: Readonly<Record<string, string>> | null | undefined
  readonly policies?: readonly string[] | undefined
  readonly member_entity_ids?: readonly string[] | undefined
  readonly member_group_ids?: readonly string[] | undefined
}

/** A write of the group with this `id`, else of the group with this name, else of a new group. */
export type GroupWrite = {
  readonly namespace: string
  readonly id?: string | undefined
  readonly fields: GroupFields
  /** A group that is gone gets the id again that it had. */
  readonly isRestored?: boolean
}

export type Written = { readonly group: Group; readonly created: boolean }

/** The write that creates or updates a group. Throws `invalid`. docs/contract/identity.md#groups */
export async function groupWrite(
  parts: GroupParts,
  { namespace, id, fields, isRestored = false }: GroupWrite,
): Promise<GroupStep<Written>> {
  checkRecordSize([fields.name, fields.policies])
  const nameKeyed = namedKey(parts, namespace, id, fields)
  const { named, target } = await namedAndTarget(parts, { namespace, id, nameKeyed, isRestored })
  const fresh = newGroup(parts, namespace, 'internal')
  const before = target?.group ?? (id === undefined ? fresh : { ...fresh, id })
  const after = withKind(before, fields, target === undefined)
  if (named !== undefined && named.value !== before.id)
    throw refuse('invalid', 'group name is already in use')
  checkManual(after, fields)

  const structure = fields.member_group_ids === undefined ? undefined : await parts.view.read(structureKey)
  const entities = await memberChanges(parts, after, fields.member_entity_ids)
  const groups = await childChanges(parts, after, fields.member_group_ids)
  const group = changedNow(parts, after)
  const entries: ViewEntry[] = [
    { key: groupKey(group.id), value: group, expect: target?.revision ?? 'absent' },
    ...nameEntries(parts, target, group),
  ]
  for (const { id } of entities.added) entries.push(...membershipRows(group.id, id, true))
  for (const { id } of entities.removed) entries.push(...membershipRows(group.id, id, undefined))
  for (const { record } of [...entities.added, ...entities.removed])
    if (record !== undefined) entries.push(unchangedEntity(record))
  for (const child of groups.added) entries.push(...childRows(group.id, child, true))
  for (const child of groups.removed) entries.push(...childRows(group.id, child, undefined))
  if (groups.added.length > 0)
    entries.push({ key: structureKey, value: group.id, expect: structure?.revision ?? 'absent' })

  return { entries, result: { group, created: target === undefined } }
}

/** Storage key of the sent name; undefined if none was sent. */
function namedKey(
  parts: GroupParts,
  namespace: string,
  id: string | undefined,
  { name }: GroupFields,
): string | undefined {
  if (name !== undefined && canonicalName(name) !== '') return groupNameKey(parts, namespace, name)
  if (name !== undefined && id === undefined) throw refuse('invalid', 'empty group name')
  return undefined
}

type Sought = Pick<GroupWrite, 'namespace' | 'id' | 'isRestored'> & { readonly nameKeyed: string | undefined }

/**
 * The row of the sent name, and the group to write. Reads them again if the group that a name led to has another name
 * by then, or is gone.
 */
async function namedAndTarget(parts: GroupParts, { nameKeyed, ...sought }: Sought) {
  const { namespace, id } = sought
  for (let attempt = 1; ; attempt += 1) {
    const named = nameKeyed === undefined ? undefined : await parts.view.read(nameKeyed)
    const target = await targetOf(parts, sought, named?.value)
    const isFound = target !== undefined && groupNameKey(parts, namespace, target.group.name) === nameKeyed
    if (id !== undefined || named === undefined || isFound || attempt === writeAttempts)
      return { named, target }
  }
}

async function targetOf(
  parts: GroupParts,
  { namespace, id, isRestored }: Omit<Sought, 'nameKeyed'>,
  named: unknown,
): Promise<StoredGroup | undefined> {
  if (id === undefined) return typeof named === 'string' ? storedGroup(parts, namespace, named) : undefined
  if (id === '') throw refuse('invalid', 'empty group ID')
  const target = await storedGroup(parts, namespace, id)
  if (target === undefined && isRestored !== true) throw refuse('invalid', 'invalid group ID')
  return target
}

/** The group with the sent name, type, policies and metadata. */
function withKind(group: Group, fields: GroupFields, isNew: boolean): Group {
  const policies = fields.policies === undefined ? group.policies : identityPolicies(fields.policies)
  // for a new group, an empty type means the default
  const type = (isNew ? fields.type || group.type : fields.type) ?? group.type
  if (!isNew && type !== group.type) throw refuse('invalid', 'group type cannot be changed')
  if (!isGroupType(type)) throw refuse('invalid', `invalid group type ${quoted(type)}`)
  const name = fields.name === undefined || canonicalName(fields.name) === '' ? group.name : fields.name
  return {
    ...group,
    name,
    type,
    policies,
    metadata: fields.metadata === undefined ? group.metadata : fields.metadata,
  }
}

const isGroupType = (type: string): type is GroupType => type === 'internal' || type === 'external'

function checkManual({ type, metadata }: Group, fields: GroupFields): void {
  if (type === 'external' && fields.member_entity_ids !== undefined)
    throw refuse('invalid', "member entities can't be set manually for external groups")
  if (type === 'external' && fields.member_group_ids !== undefined)
    throw refuse('invalid', "member groups can't be set for external groups")
  const problem = metadataProblem(metadata ?? {})
  if (problem !== undefined) throw refuse('invalid', `invalid group metadata: ${problem}`)
}

type Changes = { readonly added: readonly string[]; readonly removed: readonly string[] }
const noChanges: Changes = { added: [], removed: [] }

function difference(before: readonly string[], wanted: ReadonlySet<string>): Changes {
  const known = new Set(before)
  return {
    added: [...wanted].filter((id) => !known.has(id)),
    removed: before.filter((id) => !wanted.has(id)),
  }
}

async function memberChanges(
  parts: GroupParts,
  group: Group,
  sent: readonly string[] | undefined,
): Promise<MemberChanges> {
  if (sent === undefined) return { added: [], removed: [] }
  const changes = difference(await parts.reader.membersOf(group.id), named(sent))
  const added = await membersWith(
    changes.added,
    (id) => entityOf(parts, group, id),
    (id) => {
      throw refuse('invalid', `invalid entity ID ${quoted(id)}`)
    },
  )
  return { added, removed: await membersWith(changes.removed, (id) => parts.view.read(entityKey(id))) }
}

/** A member that joins or leaves, with its record. */
type Member = { readonly id: string; readonly record: ViewRecord | undefined }
type MemberChanges = { readonly added: readonly Member[]; readonly removed: readonly Member[] }

async function membersWith(
  ids: readonly string[],
  read: (id: string) => Promise<ViewRecord | undefined>,
  onMissing: (id: string) => void = () => {},
): Promise<Member[]> {
  const members: Member[] = []
  for await (const page of pagesOf(ids)) {
    const found = await Promise.all(page.map(async (id) => ({ id, record: await read(id) })))
    for (const { id, record } of found) if (record === undefined) onMissing(id)
    members.push(...found)
  }
  return members
}

const entityOf = async (parts: GroupParts, group: Group, id: string): Promise<ViewRecord | undefined> =>
  mayBeMember(parts, group, id) ? parts.view.read(entityKey(id)) : undefined

/**
 * Members may be of the group's namespace or an ancestor of it.
 * docs/contract/identity.md#groups-and-namespaces
 */
const mayBeMember = (parts: GroupParts, group: Group, id: string): boolean =>
  isIdentityId(id) && parts.isSameOrAbove(namespaceIdOf(id), group.namespace_id)

async function childChanges(
  parts: GroupParts,
  group: Group,
  sent: readonly string[] | undefined,
): Promise<Changes> {
  if (sent === undefined) return noChanges
  const wanted = named(sent)
  const changes = difference(await parts.reader.childrenOf(group.id), wanted)
  const above = await parts.reader.ancestorsOf(group.id)
  for (const id of changes.added) {
    if (id === group.id)
      throw refuse('invalid', `member group ID ${quoted(id)} is same as the ID of the group`)
    if (!mayBeMember(parts, group, id) || (await parts.view.read(groupKey(id))) === undefined)
      throw refuse('invalid', `invalid member group ID ${quoted(id)}`)
    if (above.has(id))
      throw refuse('invalid', `cyclic relationship detected for member group ID ${quoted(id)}`)
  }
  return changes
}

/** Unique ids, without empty list items. */
const named = (ids: readonly string[]): Set<string> => new Set(ids.filter((id) => id !== ''))

function nameEntries(
  parts: GroupParts,
  target: StoredGroup | undefined,
  { namespace_id, name, id }: Group,
): ViewEntry[] {
  const after = groupNameKey(parts, namespace_id, name)
  const before = target === undefined ? undefined : groupNameKey(parts, namespace_id, target.group.name)
  if (before === after) return []
  const taken: ViewEntry = { key: after, value: id, expect: 'absent' }
  return before === undefined ? [taken] : [taken, { key: before, value: undefined }]
}

/**
 * Both rows of a membership; a `value` of undefined deletes them. Servers copy the groups of an entity, but not
 * the entities of a group.
 */
export const membershipRows = (
  group: string,
  entity: string,
  value: true | undefined,
  options: WriteOptions = {},
): ViewEntry[] => [
  { key: memberKey(group, entity), value, isUncopied: true },
  { key: membershipKey(entity, group), value, ...options },
]

/**
 * Writes an entity as it is, with a change of its memberships: if the entity is deleted or merged
 * concurrently, one of the two writes fails and is retried.
 */
export const unchangedEntity = ({ key, value, revision }: ViewRecord): ViewEntry => ({
  key,
  value,
  expect: revision,
  isUncopied: true,
})

export const childRows = (parent: string, child: string, value: true | undefined): ViewEntry[] => [
  { key: childKey(parent, child), value, isUncopied: true },
  { key: parentKey(child, parent), value },
]
