import { causeList, refuse } from '../../../errors.ts'
import { quoted } from '../../../lib/text/go-text.ts'
import { formatTime } from '../../../lib/text/time.ts'
import type { ViewEntry } from '../../barrier/view.ts'
import type { Mount } from '../../mounts/mount.ts'
import { checkRecordSize } from '../../records/stored-record.ts'
import { canonicalName } from '../canonical-name.ts'
import { customMetadataFaults } from '../custom-metadata.ts'
import { entityKey } from '../identity-keys.ts'
import { sameMetadata } from '../metadata.ts'
import { sameName } from '../same-name.ts'
import { aliasAt, type Entity, type EntityAlias } from './entity.ts'
import { updatedByApi } from './entity-changes.ts'
import { type AliasRow, aliasNameOf, type StoredAlias, type StoredEntity } from './entity-records.ts'
import type { IdentityStore, PlannedChange } from './identity-store.ts'
import { newAlias, newEntity } from './new-entity.ts'

export type AliasParts = { readonly store: IdentityStore; mountOf(accessor: string): Mount | undefined }

/** An API write of an alias; an empty text means absent. docs/contract/identity.md#aliases */
export type AliasWrite = {
  readonly namespace: string
  readonly id: string
  readonly name: string
  readonly mountAccessor: string
  /** Id of the entity. */
  readonly canonicalId: string
  readonly customMetadata?: Readonly<Record<string, string>> | null | undefined
}

/** Ids of the alias and its entity. */
export type AliasIds = { readonly id: string; readonly canonical_id: string }

/**
 * Updates the alias with an id, or creates or updates the one with a mount and a name. Undefined if nothing
 * changed. Throws `invalid` or `denied`. docs/contract/identity.md#aliases
 */
export function putAlias(parts: AliasParts, sent: AliasWrite): Promise<AliasIds | undefined> {
  checkCustomMetadata(sent.customMetadata)
  checkRecordSize(sent.name)
  const write = canonicalName(sent.name) === '' ? { ...sent, name: '' } : sent
  return parts.store.change(async (): Promise<PlannedChange<AliasIds | undefined>> => {
    const { records } = parts.store
    const { namespace, id, name, mountAccessor } = write
    if (id !== '') {
      const stored = await records.byAliasId(namespace, id)
      if (stored === undefined) throw refuse('invalid', 'invalid alias ID provided')
      return update(parts, stored, write)
    }
    if (name === '' || mountAccessor === '')
      throw refuse('invalid', "'id' or 'mount_accessor' and 'name' must be provided")
    checkMount(parts, namespace, mountAccessor)
    const row = await records.aliasRow(namespace, mountAccessor, name)
    return row.found === undefined ? create(parts, write, row) : update(parts, row.found, write)
  })
}

function checkMount({ mountOf }: AliasParts, namespace: string, accessor: string): void {
  const mount = mountOf(accessor)
  if (mount === undefined) throw refuse('invalid', `invalid mount accessor ${quoted(accessor)}`)
  if (mount.namespace !== namespace)
    throw refuse('denied', 'matching mount is in a different namespace than request')
}

function checkCustomMetadata(metadata: AliasWrite['customMetadata']): void {
  const faults = metadata
    ? customMetadataFaults(metadata).map((fault) => `custom_metadata validation failed: ${fault}`)
    : []
  const [first] = faults
  if (first !== undefined) throw refuse('invalid', faults.length === 1 ? first : causeList(...faults))
}

async function create(
  { store }: AliasParts,
  write: AliasWrite,
  row: AliasRow,
): Promise<PlannedChange<AliasIds>> {
  const { records, clock, random } = store
  const { namespace, name, mountAccessor, canonicalId, customMetadata = null } = write
  const birth = { namespace, now: clock.now(), random }
  const resemblance = resemblanceOf(await records.resembled(write, canonicalId))
  const draft = {
    name,
    mount_accessor: mountAccessor,
    metadata: null,
    custom_metadata: customMetadata,
    ...resemblance,
  }
  if (canonicalId === '') {
    const entity = newEntity(birth, draft)
    const entries: ViewEntry[] = [
      { key: entityKey(entity.id), value: entity, expect: 'absent' },
      { key: records.keys.entityName(namespace, entity.name), value: entity.id, expect: 'absent' },
      leadingTo(entity, row),
      ...records.alikeEntries(write, entity.id),
    ]
    return { result: idsOf(entity.aliases[0], entity.id), change: { entries, entityIds: [entity.id] } }
  }
  const owner = await records.byId(namespace, canonicalId)
  if (owner === undefined) throw refuse('invalid', 'invalid canonical ID')
  if (aliasAt(owner.entity, mountAccessor) !== undefined)
    throw refuse('invalid', 'Alias already exists for requested entity and mount accessor')
  const alias = newAlias(birth, draft, owner.entity.id)
  const entries: ViewEntry[] = [
    withAliases(owner, [...owner.entity.aliases, alias], birth.now),
    leadingTo(owner.entity, row),
    ...records.alikeEntries(write, owner.entity.id),
    records.aliasIdEntry(alias, owner.entity.id),
  ]
  return { result: idsOf(alias, owner.entity.id), change: { entries, entityIds: [owner.entity.id] } }
}

async function update(
  parts: AliasParts,
  stored: StoredAlias,
  write: AliasWrite,
): Promise<PlannedChange<AliasIds | undefined>> {
  const { store } = parts
  const { alias, entity } = stored
  const wanted: EntityAlias = {
    ...alias,
    name: write.name || alias.name,
    mount_accessor: write.mountAccessor || alias.mount_accessor,
    canonical_id: write.canonicalId || entity.id,
    custom_metadata: write.customMetadata === undefined ? alias.custom_metadata : write.customMetadata,
    last_update_time: formatTime(store.clock.now()),
  }
  const isNewName = wanted.mount_accessor !== alias.mount_accessor || !sameName(wanted.name, alias.name)
  const next = isNewName ? await withResemblance(store, entity, wanted) : wanted
  const stays = next.canonical_id === entity.id
  if (stays && isSame(alias, next)) return { result: undefined }
  if (
    stays &&
    next.mount_accessor !== alias.mount_accessor &&
    aliasAt(entity, next.mount_accessor) !== undefined
  ) {
    throw refuse(
      'invalid',
      "Alias cannot be updated as the entity already has an alias for the given 'mount_accessor' ",
    )
  }
  if (!isSame(alias, next)) checkMount(parts, write.namespace, next.mount_accessor)
  const row = await newRowOf(store, entity.namespace_id, alias, next)
  const target = stays ? undefined : await targetOf(store, write.namespace, next)
  const owner = target?.entity ?? entity
  const entries: ViewEntry[] = [
    ...rowEntries(store, alias, next, owner, row),
    ...ownerEntries(stored, target, next, store.clock.now()),
  ]
  return { result: idsOf(next, owner.id), change: { entries, entityIds: [entity.id, owner.id] } }
}

async function withResemblance(
  { records }: IdentityStore,
  entity: Entity,
  { resembles, ...alias }: EntityAlias,
): Promise<EntityAlias> {
  return {
    ...alias,
    ...resemblanceOf(await records.resembled(aliasNameOf(entity, alias), alias.canonical_id)),
  }
}

const resemblanceOf = (entityId: string | undefined) =>
  entityId === undefined ? {} : { resembles: entityId }

/** The entity an alias moves to. */
async function targetOf(
  { records }: IdentityStore,
  namespace: string,
  next: EntityAlias,
): Promise<StoredEntity> {
  const target = await records.byId(namespace, next.canonical_id)
  if (target === undefined) throw refuse('invalid', "given 'canonical_id' is not associated with an entity")
  if (aliasAt(target.entity, next.mount_accessor) !== undefined) {
    throw refuse(
      'invalid',
      'Alias cannot be updated as the given entity already has an alias for this mount ',
    )
  }
  return target
}

const isSame = (alias: EntityAlias, next: EntityAlias): boolean =>
  alias.name === next.name &&
  alias.mount_accessor === next.mount_accessor &&
  sameMetadata(alias.custom_metadata, next.custom_metadata ?? {})

/**
 * The row for the new mount and name; undefined if both are unchanged. Throws `invalid` if they are taken.
 */
async function newRowOf(
  { records }: IdentityStore,
  namespace: string,
  alias: EntityAlias,
  next: EntityAlias,
): Promise<AliasRow | undefined> {
  if (next.mount_accessor === alias.mount_accessor && sameName(next.name, alias.name)) return undefined
  const row = await records.aliasRow(namespace, next.mount_accessor, next.name)
  if (row.found !== undefined)
    throw refuse('invalid', 'alias with combination of mount accessor and name already exists')
  return row
}

/** The rows that lead to the alias: by mount and name, and by id. */
function rowEntries(
  { records }: IdentityStore,
  alias: EntityAlias,
  next: EntityAlias,
  owner: Entity,
  row: AliasRow | undefined,
): ViewEntry[] {
  const before = records.keys.alias(owner.namespace_id, alias.mount_accessor, alias.name)
  const byName =
    row === undefined
      ? [{ key: before, value: owner.id }]
      : [{ key: before, value: undefined }, leadingTo(owner, row)]
  const oldAlike = row === undefined ? [] : records.alikeEntries(aliasNameOf(owner, alias), undefined)
  return [
    ...byName,
    ...oldAlike,
    ...records.alikeEntries(aliasNameOf(owner, next), owner.id),
    records.aliasIdEntry(next, owner.id),
  ]
}

const leadingTo = ({ id }: Entity, { key, expect }: AliasRow): ViewEntry => ({ key, value: id, expect })

function ownerEntries(
  stored: StoredAlias,
  target: StoredEntity | undefined,
  next: EntityAlias,
  now: number,
): ViewEntry[] {
  const { entity, alias } = stored
  const others = entity.aliases.filter((one) => one !== alias)
  if (target !== undefined)
    return [withAliases(stored, others, now), withAliases(target, [...target.entity.aliases, next], now)]
  return [
    withAliases(
      stored,
      entity.aliases.map((one) => (one === alias ? next : one)),
      now,
    ),
  ]
}

const withAliases = (
  { entity, revision }: StoredEntity,
  aliases: readonly EntityAlias[],
  now: number,
): ViewEntry => ({
  key: entityKey(entity.id),
  value: updatedByApi({ ...entity, aliases }, now),
  expect: revision,
})

const idsOf = (alias: EntityAlias | undefined, entityId: string): AliasIds => ({
  id: alias?.id ?? '',
  canonical_id: entityId,
})

/**
 * Deletes an alias, but not its entity and tokens. No-op if there is no such alias.
 * docs/contract/identity.md#aliases
 */
export function deleteAlias(store: IdentityStore, namespace: string, id: string): Promise<void> {
  return store.change(async () => {
    const stored = await store.records.byAliasId(namespace, id)
    if (stored === undefined) return { result: undefined }
    const { entity, alias } = stored
    const others = entity.aliases.filter((one) => one !== alias)
    const entries = [
      withAliases(stored, others, store.clock.now()),
      ...store.records.aliasRemovalEntries(entity, alias),
    ]
    return { result: undefined, change: { entries, entityIds: [entity.id] } }
  })
}
