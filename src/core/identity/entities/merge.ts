import { refuse } from '../../../errors.ts'
import { formatTime } from '../../../lib/text/time.ts'
import type { ViewEntry } from '../../barrier/view.ts'
import { entityKey, mergedKey } from '../identity-keys.ts'
import { aliasAt, type Entity, type EntityAlias } from './entity.ts'
import { updatedByApi } from './entity-changes.ts'
import { aliasNameOf, type StoredEntity } from './entity-records.ts'
import type { IdentityStore, PlannedChange } from './identity-store.ts'

export type MergeRequest = {
  readonly namespace: string
  readonly to: string
  readonly from: readonly string[]
  /** Ids of aliases to keep if two aliases of one mount clash. */
  readonly keep: readonly string[]
}

/** Two aliases of one mount; the merged entity can have only one of them. */
export type Clash = {
  readonly to: Entity
  readonly from: Entity
  readonly toAlias: EntityAlias
  readonly fromAlias: EntityAlias
}

/** Most entities per merge, which is one write. */
const maxFrom = 1000

/**
 * Merges entities into one. The target takes over aliases and memberships, and the ids of the deleted
 * entities lead to it. If aliases clash and the request names none to keep, writes nothing and returns the
 * clashes. Throws `invalid`. docs/contract/identity.md#merging
 */
export function mergeEntities(store: IdentityStore, request: MergeRequest): Promise<readonly Clash[]> {
  if (request.to === '') throw refuse('invalid', 'missing entity id to merge to')
  const from = [...new Set(request.from)]
  if (from.length === 0) throw refuse('invalid', 'missing entity ids to merge from')
  if (from.length > maxFrom)
    throw refuse('invalid', `too many entity ids to merge from: at most ${maxFrom} at a time`)
  if (request.keep.length > 1 && from.length > 1) {
    throw refuse(
      'invalid',
      'aliases conflicts cannot be resolved with multiple from entity ids - merge one entity at a time',
    )
  }
  return store.change(() => plan(store, { ...request, from }))
}

async function plan(
  store: IdentityStore,
  { namespace, to, from, keep }: MergeRequest,
): Promise<PlannedChange<readonly Clash[]>> {
  const target = await store.records.byId(namespace, to)
  if (target === undefined) throw refuse('invalid', 'entity id to merge to is invalid')
  const sources: StoredEntity[] = []
  for (const id of from) {
    if (id === to) throw refuse('invalid', 'to_entity_id should not be present in from_entity_ids')
    const source = await store.records.byId(namespace, id)
    if (source === undefined) throw refuse('invalid', 'entity id to merge from is invalid')
    sources.push(source)
  }
  const now = store.clock.now()
  const joined = joinAliases(
    target.entity,
    sources.map(({ entity }) => entity),
    keep,
    formatTime(now),
  )
  if (joined.clashes.length > 0) {
    if (keep.length === 0) return { result: joined.clashes }
    const [{ fromAlias, toAlias } = { fromAlias: { id: '' }, toAlias: { id: '' } }] = joined.clashes
    throw refuse(
      'invalid',
      `conflicting mount accessors in following alias IDs and neither were present in conflicting_alias_ids_to_keep: ${fromAlias.id}, ${toAlias.id}`,
    )
  }
  const moved = await store.memberships.moveMembers(from, to)
  const merged = mergedEntity(
    target.entity,
    sources.map(({ entity }) => entity),
    joined.aliases,
  )
  const entries = [...mergeEntries(store, target, sources, updatedByApi(merged, now)), ...moved.entries]
  const entityIds = [to, ...(merged.merged_entity_ids ?? [])]
  return { result: [], change: { entries, entityIds, written: moved.written } }
}

type JoinedAliases = { readonly aliases: readonly EntityAlias[]; readonly clashes: readonly Clash[] }

/**
 * Joins the aliases of all entities, one per mount. Of two that clash, the one in `keep` wins; if both are in
 * it, the target's. `time` is RFC 3339 text.
 */
function joinAliases(
  target: Entity,
  sources: readonly Entity[],
  keep: readonly string[],
  time: string,
): JoinedAliases {
  const clashes: Clash[] = []
  const aliases = [...target.aliases]
  const owners = new Map<EntityAlias, Entity>(target.aliases.map((alias) => [alias, target]))
  for (const from of sources) {
    for (const fromAlias of from.aliases) {
      const toAlias = aliasAt({ ...target, aliases }, fromAlias.mount_accessor)
      if (toAlias !== undefined && keep.includes(toAlias.id)) continue
      const moved = {
        ...fromAlias,
        canonical_id: target.id,
        merged_from_canonical_ids: [...(fromAlias.merged_from_canonical_ids ?? []), from.id],
        last_update_time: time,
      }
      if (toAlias === undefined) aliases.push(moved)
      else if (keep.includes(fromAlias.id)) aliases.splice(aliases.indexOf(toAlias), 1, moved)
      else clashes.push({ to: owners.get(toAlias) ?? target, from, toAlias, fromAlias })
      owners.set(moved, from)
    }
  }
  return { aliases, clashes }
}

/** Keeps the target's policies, metadata and name, and adds the ids of all entities merged now or before. */
function mergedEntity(target: Entity, sources: readonly Entity[], aliases: readonly EntityAlias[]): Entity {
  const ids = [target, ...sources].flatMap((entity) => entity.merged_entity_ids ?? [])
  return { ...target, aliases, merged_entity_ids: [...new Set([...ids, ...sources.map(({ id }) => id)])] }
}

function mergeEntries(
  { records }: IdentityStore,
  target: StoredEntity,
  sources: readonly StoredEntity[],
  merged: Entity,
): ViewEntry[] {
  const kept = new Set(merged.aliases.map(({ id }) => id))
  const lost = (entity: Entity) =>
    entity.aliases
      .filter(({ id }) => !kept.has(id))
      .flatMap((alias) => records.aliasRemovalEntries(entity, alias))
  const won = merged.aliases
    .filter((alias) => !target.entity.aliases.includes(alias))
    .flatMap((alias) => [
      { key: records.keys.alias(merged.namespace_id, alias.mount_accessor, alias.name), value: merged.id },
      ...records.alikeEntries(aliasNameOf(merged, alias), merged.id),
      records.aliasIdEntry(alias, merged.id),
    ])
  return [
    { key: entityKey(merged.id), value: merged, expect: target.revision },
    ...sources.flatMap(({ entity, revision }) => [
      { key: entityKey(entity.id), value: undefined, expect: revision },
      {
        key: records.keys.entityName(entity.namespace_id, entity.name),
        value: undefined,
        isUncopied: true as const,
      },
      ...lost(entity),
    ]),
    ...lost(target.entity),
    ...won,
    ...(merged.merged_entity_ids ?? []).map((id) => ({ key: mergedKey(id), value: merged.id })),
  ]
}
