import type { View, ViewEntry } from '../../barrier/view.ts'
import { namespaceIdOf } from '../../namespaces/suffix.ts'
import { canonicalName } from '../canonical-name.ts'
import {
  aliasIdKey,
  aliasIdPrefix,
  entityKey,
  entityPrefix,
  type IdentityKeys,
  isIdentityId,
  mergedKey,
} from '../identity-keys.ts'
import { foldedName } from '../same-name.ts'
import {
  aliasOf,
  type Entity,
  type EntityAlias,
  entityIdOfFirstAlias,
  firstAliasId,
  readEntity,
} from './entity.ts'

/** A stored entity and the revision that a change must expect. */
export type StoredEntity = { readonly entity: Entity; readonly revision: number }

export type StoredAlias = StoredEntity & { readonly alias: EntityAlias }

/** The row that maps mount and name to an entity, as read; `found` is the alias, if it exists. */
export type AliasRow = {
  readonly key: string
  readonly expect: number | 'absent'
  readonly found: StoredAlias | undefined
}

/** A name at a mount. */
export type AliasName = { readonly namespace: string; readonly mountAccessor: string; readonly name: string }

export const aliasNameOf = ({ namespace_id }: Entity, { mount_accessor, name }: EntityAlias): AliasName => ({
  namespace: namespace_id,
  mountAccessor: mount_accessor,
  name,
})

/** Limit for following merges. Chains are short, because each merge rewrites the rows of earlier merges. */
const maxMergeChain = 16

/**
 * Finds entities by id, name and alias through storage keys, in time independent of their number. Does not
 * find entities of other namespaces, except with `ofAnyNamespace`.
 */
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

  /** Id of the entity that this one was merged into, if any. docs/contract/identity.md#merging */
  async mergedInto(id: string): Promise<string | undefined> {
    let target: string | undefined
    for (let at: unknown = id, links = 0; links < maxMergeChain; links += 1) {
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

  /** Reads the row of an alias name: whether the name is taken, and the revision that a write must expect. */
  async aliasRow(namespace: string, mountAccessor: string, name: string): Promise<AliasRow> {
    const key = this.keys.alias(namespace, mountAccessor, name)
    const row = await this.#view.read(key)
    const stored = typeof row?.value === 'string' ? await this.byId(namespace, row.value) : undefined
    const alias = stored === undefined ? undefined : aliasOf(stored.entity, mountAccessor, name)
    return {
      key,
      expect: row?.revision ?? 'absent',
      found: stored === undefined || alias === undefined ? undefined : { ...stored, alias },
    }
  }

  async byAliasId(namespace: string, id: string): Promise<StoredAlias | undefined> {
    if (!isIdentityId(id) || namespaceIdOf(id) !== namespace) return undefined
    const first = entityIdOfFirstAlias(id)
    const found = first === undefined ? undefined : withAlias(await this.byId(namespace, first), id)
    if (found !== undefined) return found
    const owner = await this.#view.get(aliasIdKey(id))
    return typeof owner === 'string' ? withAlias(await this.byId(namespace, owner), id) : undefined
  }

  /** Entities of a namespace, ordered by id. */
  async *all(namespace: string, after = ''): AsyncGenerator<Entity, void, undefined> {
    const prefix = entityPrefix(namespace)
    for await (const page of this.#view.pages(prefix, prefix + after))
      for (const { value } of page) yield readEntity(value)
  }

  /** The rows of alias ids, in order, each with the id of its entity. */
  async *aliasIds(
    namespace: string,
    after: string,
  ): AsyncGenerator<{ id: string; entityId: string }, void, undefined> {
    const prefix = aliasIdPrefix(namespace)
    for await (const page of this.#view.pages(prefix, prefix + after))
      for (const { key, value } of page)
        if (typeof value === 'string') yield { id: key.slice(prefix.length), entityId: value }
  }

  /** Maps an alias id to `entityId`; deletes the row if the alias id is derived from the entity's id. */
  aliasIdEntry({ id }: EntityAlias, entityId: string): ViewEntry {
    return {
      key: aliasIdKey(id),
      value: id === firstAliasId(entityId) ? undefined : entityId,
      isUncopied: true,
    }
  }

  /** Deletes all records of an entity except its memberships. */
  goneEntries({ entity, revision }: StoredEntity): ViewEntry[] {
    return [
      { key: entityKey(entity.id), value: undefined, expect: revision },
      { key: this.keys.entityName(entity.namespace_id, entity.name), value: undefined, isUncopied: true },
      ...entity.aliases.flatMap((alias) => this.aliasRemovalEntries(entity, alias)),
      ...(entity.merged_entity_ids ?? []).map((id) => ({ key: mergedKey(id), value: undefined })),
    ]
  }

  /**
   * Id of another entity whose name at this mount looks like this one. `of` is the entity with this name
   * itself.
   */
  async resembled({ namespace, mountAccessor, name }: AliasName, of?: string): Promise<string | undefined> {
    const canonical = canonicalName(name)
    const plain = isCanonical(name)
      ? undefined
      : (await this.byAlias(namespace, mountAccessor, canonical))?.entity.id
    if (plain !== undefined && plain !== of) return plain
    const rows = await this.#view.list(this.keys.alikePrefix(namespace, mountAccessor, name), { limit: 2 })
    if (rows.length === 0) return undefined
    const own = this.keys.alike(namespace, mountAccessor, name)
    const other = rows.find(({ key, value }) => key !== own && value !== of)
    return typeof other?.value === 'string' ? other.value : undefined
  }

  /**
   * The row by which similar names find this one. A canonical name needs none: similar names find it by their
   * canonical form.
   */
  alikeEntries({ namespace, mountAccessor, name }: AliasName, entityId: string | undefined): ViewEntry[] {
    return isCanonical(name)
      ? []
      : [{ key: this.keys.alike(namespace, mountAccessor, name), value: entityId, isUncopied: true }]
  }

  /** Deletes the rows that lead to an alias. */
  aliasRemovalEntries(entity: Entity, alias: EntityAlias): ViewEntry[] {
    return [
      ...this.alikeEntries(aliasNameOf(entity, alias), undefined),
      {
        key: this.keys.alias(entity.namespace_id, alias.mount_accessor, alias.name),
        value: undefined,
        isUncopied: true,
      },
      { key: aliasIdKey(alias.id), value: undefined, isUncopied: true },
    ]
  }
}

const isCanonical = (name: string): boolean => canonicalName(name) === foldedName(name)

function withAlias(stored: StoredEntity | undefined, aliasId: string): StoredAlias | undefined {
  const alias = stored?.entity.aliases.find(({ id }) => id === aliasId)
  return stored === undefined || alias === undefined ? undefined : { ...stored, alias }
}
