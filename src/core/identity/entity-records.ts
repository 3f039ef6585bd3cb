import type { View, ViewEntry } from '../barrier/view.ts'
import { namespaceIdOf } from '../namespaces/suffix.ts'
import { canonicalName } from './canonical-name.ts'
import { aliasOf, type Entity, type EntityAlias, entityIdOfFirstAlias, firstAliasId, readEntity } from './entity.ts'
import { aliasIdKey, aliasIdPrefix, entityKey, entityPrefix, type IdentityKeys, isIdentityId, mergedKey } from './identity-keys.ts'
import { foldedName } from './same-name.ts'

/** An entity as stored, with the revision a change hangs on. */
export type StoredEntity = { readonly entity: Entity; readonly revision: number }

export type StoredAlias = StoredEntity & { readonly alias: EntityAlias }

/** The row that leads from mount and name to an entity, as it was read: `found` is the alias it leads to, if there is one. */
export type AliasRow = { readonly key: string; readonly expect: number | 'absent'; readonly found: StoredAlias | undefined }

/** A name at a mount. */
export type AliasPlace = { readonly namespace: string; readonly mountAccessor: string; readonly name: string }

export const placeOf = ({ namespace_id }: Entity, { mount_accessor, name }: EntityAlias): AliasPlace => ({
  namespace: namespace_id,
  mountAccessor: mount_accessor,
  name,
})

/** A piece of a list: what comes after `after`, at most `limit`. */
export type Page = { readonly after?: string | undefined; readonly limit: number }

/** Chains of merged entities are short: each merge writes the rows of all that were merged before. */
const longestMergeChain = 16

/** Finds entities by id, name and alias, each by keys alone, whatever their number. What belongs to another namespace is not found. */
export class EntityRecords {
  readonly keys: IdentityKeys
  readonly #view: View

  constructor(view: View, keys: IdentityKeys) {
    this.#view = view
    this.keys = keys
  }

  async byId(namespace: string, id: string): Promise<StoredEntity | undefined> {
    return namespaceIdOf(id) === namespace ? this.ofAnyNamespace(id) : undefined
  }

  async ofAnyNamespace(id: string): Promise<StoredEntity | undefined> {
    const record = isIdentityId(id) ? await this.#view.read(entityKey(id)) : undefined
    return record === undefined ? undefined : { entity: readEntity(record.value), revision: record.revision }
  }

  /** The entity this one was merged into; undefined when it was not. docs/contract/identity.md#merging */
  async mergedInto(id: string): Promise<string | undefined> {
    let target: string | undefined
    for (let at: unknown = id, links = 0; links < longestMergeChain; links += 1) {
      at = typeof at === 'string' && isIdentityId(at) ? await this.#view.get(mergedKey(at)) : undefined
      if (typeof at !== 'string') break
      target = at
    }
    return target
  }

  async byName(namespace: string, name: string): Promise<StoredEntity | undefined> {
    const id = await this.#view.get(this.keys.entityName(namespace, name))
    return typeof id === 'string' ? this.byId(namespace, id) : undefined
  }

  async byAlias(namespace: string, mountAccessor: string, name: string): Promise<StoredAlias | undefined> {
    return (await this.aliasRow(namespace, mountAccessor, name)).found
  }

  /** One read of the row tells both whether the name is taken and what a write of it must expect. */
  async aliasRow(namespace: string, mountAccessor: string, name: string): Promise<AliasRow> {
    const key = this.keys.alias(namespace, mountAccessor, name)
    const row = await this.#view.read(key)
    const stored = typeof row?.value === 'string' ? await this.byId(namespace, row.value) : undefined
    const alias = stored === undefined ? undefined : aliasOf(stored.entity, mountAccessor, name)
    return { key, expect: row?.revision ?? 'absent', found: stored === undefined || alias === undefined ? undefined : { ...stored, alias } }
  }

  async byAliasId(namespace: string, id: string): Promise<StoredAlias | undefined> {
    if (!isIdentityId(id) || namespaceIdOf(id) !== namespace) return undefined
    const first = entityIdOfFirstAlias(id)
    const found = first === undefined ? undefined : withAlias(await this.byId(namespace, first), id)
    if (found !== undefined) return found
    const owner = await this.#view.get(aliasIdKey(id))
    return typeof owner === 'string' ? withAlias(await this.byId(namespace, owner), id) : undefined
  }

  /** Entities in the order of their ids. */
  async page(namespace: string, { after, limit }: Page): Promise<Entity[]> {
    const prefix = entityPrefix(namespace)
    const records = await this.#view.list(prefix, { limit, ...(after === undefined ? {} : { after: prefix + after }) })
    return records.map(({ value }) => readEntity(value))
  }

  /** Ids of aliases that have a row, in order, each with that of its entity. */
  async aliasIdPage(namespace: string, { after, limit }: Page): Promise<{ id: string; entityId: string }[]> {
    const prefix = aliasIdPrefix(namespace)
    const records = await this.#view.list(prefix, { limit, ...(after === undefined ? {} : { after: prefix + after }) })
    return records.flatMap(({ key, value }) => (typeof value === 'string' ? [{ id: key.slice(prefix.length), entityId: value }] : []))
  }

  /** The row that leads from an alias id to `entityId`; it goes where the id leads there itself. */
  aliasIdEntry({ id }: EntityAlias, entityId: string): ViewEntry {
    return { key: aliasIdKey(id), value: id === firstAliasId(entityId) ? undefined : entityId }
  }

  /** Everything of an entity but its memberships, gone. */
  goneEntries({ entity, revision }: StoredEntity): ViewEntry[] {
    return [
      { key: entityKey(entity.id), value: undefined, expect: revision },
      { key: this.keys.entityName(entity.namespace_id, entity.name), value: undefined },
      ...entity.aliases.flatMap((alias) => this.aliasGoneEntries(entity, alias)),
      ...(entity.merged_entity_ids ?? []).map((id) => ({ key: mergedKey(id), value: undefined })),
    ]
  }

  /** The entity that had a name at this mount which looks like this one and is another; `of` is the entity of this name itself. */
  async resembled({ namespace, mountAccessor, name }: AliasPlace, of?: string): Promise<string | undefined> {
    const canonical = canonicalName(name)
    const plain = isCanonical(name) ? undefined : (await this.byAlias(namespace, mountAccessor, canonical))?.entity.id
    if (plain !== undefined && plain !== of) return plain
    const rows = await this.#view.list(this.keys.alikePrefix(namespace, mountAccessor, name), { limit: 2 })
    const own = this.keys.alike(namespace, mountAccessor, name)
    const other = rows.find(({ key, value }) => key !== own && value !== of)
    return typeof other?.value === 'string' ? other.value : undefined
  }

  /** The row by which names that look like this one find it; none for a name in canonical form, which is found by that. */
  alikeEntries({ namespace, mountAccessor, name }: AliasPlace, entityId: string | undefined): ViewEntry[] {
    return isCanonical(name) ? [] : [{ key: this.keys.alike(namespace, mountAccessor, name), value: entityId }]
  }

  /** The rows that lead to an alias, gone. */
  aliasGoneEntries(entity: Entity, alias: EntityAlias): ViewEntry[] {
    return [
      ...this.alikeEntries(placeOf(entity, alias), undefined),
      { key: this.keys.alias(entity.namespace_id, alias.mount_accessor, alias.name), value: undefined },
      { key: aliasIdKey(alias.id), value: undefined },
    ]
  }
}

const isCanonical = (name: string): boolean => canonicalName(name) === foldedName(name)

function withAlias(stored: StoredEntity | undefined, aliasId: string): StoredAlias | undefined {
  const alias = stored?.entity.aliases.find(({ id }) => id === aliasId)
  return stored === undefined || alias === undefined ? undefined : { ...stored, alias }
}
