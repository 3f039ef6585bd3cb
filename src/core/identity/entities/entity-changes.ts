import { refuse } from '../../../errors.ts'
import { formatTime } from '../../../lib/text/time.ts'
import type { ViewEntry } from '../../barrier/view.ts'
import { checkRecordSize } from '../../records/stored-record.ts'
import { canonicalName } from '../canonical-name.ts'
import { entityKey } from '../identity-keys.ts'
import { metadataProblem } from '../metadata.ts'
import { identityPolicies } from '../policies.ts'
import { sameName } from '../same-name.ts'
import type { Entity } from './entity.ts'
import type { StoredEntity } from './entity-records.ts'
import type { IdentityStore, PlannedChange } from './identity-store.ts'
import { newEntity } from './new-entity.ts'

/** Fields of an API write of an entity; absent fields are unchanged. docs/contract/identity.md#entities */
type EntityFields = {
  readonly metadata?: Readonly<Record<string, string>> | null | undefined
  readonly policies?: readonly string[] | undefined
  readonly disabled?: boolean | undefined
}

export type EntityWrite = {
  readonly namespace: string
  /** Empty: the entity with this name. */
  readonly id: string
  /** Empty: unchanged, or generated for a new entity. */
  readonly name: string
  readonly fields: EntityFields
}

/**
 * Updates the entity with an id or a name, or creates one. Returns a new entity; undefined after an update.
 * docs/contract/identity.md#entities
 */
export function putEntity(store: IdentityStore, write: EntityWrite): Promise<Entity | undefined> {
  checkRecordSize([write.name, write.fields])
  const name = canonicalName(write.name) === '' ? '' : write.name
  return store.change(async (): Promise<PlannedChange<Entity | undefined>> => {
    const stored = await targetOf(store, write.namespace, write.id, name)
    return stored === undefined ? create(store, write, name) : update(store, stored, write.fields, name)
  })
}

async function targetOf(
  { records }: IdentityStore,
  namespace: string,
  id: string,
  name: string,
): Promise<StoredEntity | undefined> {
  if (id === '') return name === '' ? undefined : records.byName(namespace, name)
  const stored = await records.byId(namespace, id)
  if (stored === undefined) throw refuse('invalid', 'entity not found from id')
  return stored
}

function create(
  { records, clock, random }: IdentityStore,
  { namespace, fields }: EntityWrite,
  name: string,
): PlannedChange<Entity> {
  const fresh = newEntity({ namespace, now: clock.now(), random })
  const entity: Entity = { ...fresh, ...(name === '' ? {} : { name }), ...checked(fields) }
  const entries: ViewEntry[] = [
    { key: entityKey(entity.id), value: entity, expect: 'absent', isUncopied: true },
    {
      key: records.keys.entityName(namespace, entity.name),
      value: entity.id,
      expect: 'absent' as const,
      isUncopied: true as const,
    },
  ]
  return { result: entity, change: { entries, entityIds: [entity.id] } }
}

async function update(
  store: IdentityStore,
  { entity, revision }: StoredEntity,
  fields: EntityFields,
  name: string,
): Promise<PlannedChange<undefined>> {
  const { keys } = store.records
  const isRenamed = name !== '' && !sameName(name, entity.name)
  if (isRenamed && (await store.records.byName(entity.namespace_id, name)) !== undefined)
    throw refuse('invalid', 'entity name is already in use')
  const changed = updatedByApi(
    { ...entity, ...(name === '' ? {} : { name }), ...checked(fields) },
    store.clock.now(),
  )
  const entries = [
    { key: entityKey(entity.id), value: changed, expect: revision },
    ...(isRenamed
      ? [
          { key: keys.entityName(entity.namespace_id, entity.name), value: undefined },
          { key: keys.entityName(entity.namespace_id, name), value: entity.id, expect: 'absent' as const },
        ]
      : []),
  ]
  return { result: undefined, change: { entries, entityIds: [entity.id] } }
}

/** The sent fields in their stored form. Throws `invalid`. */
function checked({ metadata, policies, disabled }: EntityFields): Partial<Entity> {
  const problem = metadata ? metadataProblem(metadata) : undefined
  const names = policies === undefined ? undefined : identityPolicies(policies)
  if (problem !== undefined) throw refuse('invalid', `invalid entity metadata: ${problem}`)
  return {
    ...(metadata === undefined ? {} : { metadata }),
    ...(names === undefined ? {} : { policies: names }),
    ...(disabled === undefined ? {} : { disabled }),
  }
}

/** Marks an entity as written through the API, so that a tidy keeps it. `now` is in milliseconds. */
export const updatedByApi = (entity: Entity, now: number): Entity => ({
  ...entity,
  made_by_login: false,
  last_update_time: formatTime(now),
})

/** Identifies an entity by id or name. */
export type EntityRef = { readonly id: string } | { readonly name: string }

/**
 * Deletes an entity with its aliases and memberships; its tokens are refused from then on. No-op if there is
 * no such entity. docs/contract/identity.md#entities
 */
export function deleteEntity(store: IdentityStore, namespace: string, ref: EntityRef): Promise<void> {
  const plan = async (): Promise<PlannedChange<undefined>> => {
    const stored =
      'id' in ref
        ? await store.records.byId(namespace, ref.id)
        : await store.records.byName(namespace, ref.name)
    return stored === undefined ? { result: undefined } : entityRemoval(store, stored)
  }
  return store.change(plan)
}

/** The change that deletes an entity. */
export async function entityRemoval(
  { records, memberships }: IdentityStore,
  stored: StoredEntity,
): Promise<PlannedChange<undefined>> {
  const { entity } = stored
  const left = await memberships.moveMembers([entity.id])
  return {
    result: undefined,
    change: {
      entries: [...records.goneEntries(stored), ...left.entries],
      entityIds: [entity.id, ...(entity.merged_entity_ids ?? [])],
      written: left.written,
    },
  }
}
