import type { ViewEntry } from '../barrier/view.ts'
import { canonicalName } from './canonical-name.ts'
import type { Group } from './group.ts'
import { changesKey } from './group-keys.ts'
import type { GroupParts } from './group-parts.ts'
import type { Memberships } from './group-reader.ts'
import { membershipRows } from './group-write.ts'
import { entityKey } from './identity-keys.ts'

/** A login or renewal, as far as groups go. */
export type GroupLogin = {
  /** Of the mount, and so of its aliases. */
  readonly namespace: string
  readonly mountAccessor: string
  readonly entityId: string
  /** The entity is made by this very login. */
  readonly isNew?: boolean
  /** What the provider calls the groups of the caller, or what matched when the token was issued. */
  readonly names: readonly string[]
}

/** What a login or renewal does to the groups of its entity. */
export type GroupRefresh = {
  /** Names that stand for a group here, each once: what a renewal of the token looks at. */
  readonly matched: readonly string[]
  /** Whether anything has to be written. */
  readonly changes: boolean
  /** The groups afterwards. */
  readonly memberships: Memberships
  /** What to write: to be asked for in the same turn as the write is given to storage, as each time gives other counts. */
  entries(): ViewEntry[]
  /** To be called once they are written, or when it is not known whether they were. */
  written(): void
}

const none: Memberships = { direct: [], inherited: [] }

/**
 * The groups of an entity after a login: in those its provider names, out of the others of this mount. Reads no storage when the mount's aliases and
 * the entity's groups are known. Internal groups and those with an alias at another mount stay as they are. Contract tokens §3.5.
 */
export async function groupRefresh(parts: GroupParts, login: GroupLogin, changed: (entityId: string) => void): Promise<GroupRefresh> {
  const { reader } = parts
  const aliases = await reader.aliasesOf(login.namespace, login.mountAccessor)
  const current = login.isNew === true ? none : await reader.membershipsOf(login.entityId)
  const { matched, wanted } = matches(aliases, login.names)
  const external = current.direct.filter(({ type }) => type === 'external')
  const leaves = external.filter((group) => !wanted.has(group.id) && isOfMount(group, login.mountAccessor)).map(({ id }) => id)
  const joins: string[] = []
  for (const id of wanted) {
    // an alias may have been read that goes with its group at this moment
    if (!external.some((group) => group.id === id) && (await reader.group(id)) !== undefined) joins.push(id)
  }
  const unchanged: GroupRefresh = { matched, changes: false, memberships: current, entries: () => [], written: () => undefined }
  if (joins.length === 0 && leaves.length === 0) return unchanged

  const direct = [...current.direct.map(({ id }) => id).filter((id) => !leaves.includes(id)), ...joins].sort()
  const touched = [...joins, ...leaves]
  const [memberships, entity] = await Promise.all([
    reader.membershipsBy(direct),
    login.isNew === true ? undefined : parts.view.read(entityKey(login.entityId)),
    ...touched.map((id) => reader.changesOf(id)),
  ])
  if (login.isNew !== true && entity === undefined) return unchanged
  return {
    matched,
    changes: true,
    memberships,
    entries: () => [
      ...joins.flatMap((id) => membershipRows(id, login.entityId, true)),
      ...leaves.flatMap((id) => membershipRows(id, login.entityId, undefined)),
      ...touched.map((id): ViewEntry => ({ key: changesKey(id), value: reader.nextChange(id) })),
      // as it is: should the entity be removed or merged at this moment, one of the two writes is refused and looks again
      ...(entity === undefined ? [] : [{ key: entity.key, value: entity.value, expect: entity.revision }]),
    ],
    written: () => changed(login.entityId),
  }
}

/** Names of a claim that stand for a group, in the form names are compared in. */
function matches(aliases: ReadonlyMap<string, string>, names: readonly string[]): { matched: string[]; wanted: Set<string> } {
  const matched = new Set<string>()
  const wanted = new Set<string>()
  if (aliases.size > 0) {
    for (const name of names) {
      const canonical = canonicalName(name)
      const group = aliases.get(canonical)
      if (group === undefined) continue
      matched.add(canonical)
      wanted.add(group)
    }
  }
  return { matched: [...matched], wanted }
}

const isOfMount = ({ alias }: Group, mountAccessor: string): boolean => alias === null || alias.mount_accessor === mountAccessor
