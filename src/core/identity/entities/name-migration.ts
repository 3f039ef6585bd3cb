import type { Random } from '../../../lib/system/random.ts'
import type { View, ViewEntry } from '../../barrier/view.ts'
import type { CoreLog } from '../../core-log.ts'
import { namespaceIdOf } from '../../namespaces/suffix.ts'
import { openRequired } from '../../open-required.ts'
import { readGroup } from '../groups/group.ts'
import { aliasPrefix, namePrefix } from '../groups/group-keys.ts'
import type { AliasRow } from '../groups/group-reader.ts'
import { aliasIdKey, entityKey, IdentityKeys } from '../identity-keys.ts'
import { foldedName } from '../same-name.ts'
import { type Entity, readEntity } from './entity.ts'
import { aliasNameOf, EntityRecords } from './entity-records.ts'

/**
 * Key of the marker that name rows use hashes of the folded form. Without it, they use hashes of the
 * canonical form.
 */
const doneKey = 'identity-names'
const done = 'folded'

export type NameMigrationParts = {
  readonly view: View
  readonly keys: IdentityKeys
  /** Called for a record that cannot be read; it is not changed. */
  onFailure(key: string, error: unknown): void
}

/**
 * Moves entities of versions without namespaces into theirs, and the name rows of entities and groups from
 * hashes of the canonical form, which similar names share, to hashes of the folded form, which each name has
 * to itself. Must run before names are read or written; a run
 * after a crash completes the migration. Returns the number of moved rows; undefined if the migration was
 * done before.
 */
export async function migrateNames({
  view,
  keys,
  onFailure,
}: NameMigrationParts): Promise<number | undefined> {
  if ((await view.get(doneKey)) === done) return undefined
  const moves = new NameMoves(view, keys)
  let moved = 0
  for (const [prefix, movesOf] of [
    ['entity/', (key: string, value: unknown) => moves.ofEntity(key, value)] as const,
    ['group/', (_key: string, value: unknown) => moves.ofGroup(value)] as const,
  ]) {
    for await (const page of view.keyPages(prefix)) {
      const entries: ViewEntry[] = []
      for (const key of page) {
        try {
          entries.push(...(await movesOf(key, await view.get(key))))
        } catch (error) {
          onFailure(key, error)
        }
      }
      if (entries.length > 0) await view.write(entries)
      moved += entries.filter(({ value }) => value === undefined).length
    }
  }
  await deleteUnplacedRows(view)
  // a read-only disk must not prevent the start; the next start migrates again
  await view.write([{ key: doneKey, value: done }]).catch((error: unknown) => onFailure(doneKey, error))
  return moved
}

/** Migrates the names of stores from before version 0.2.0, and logs it. */
export async function migrateIdentityNames(view: View, random: Random, log: CoreLog): Promise<void> {
  const keys = await openRequired('the keys of identities', IdentityKeys.open(view, random))
  const onFailure = (key: string, err: unknown) =>
    log.error({ event: 'work_failed', err, key }, 'could not migrate the name of an identity')
  const moved = await migrateNames({ view, keys, onFailure })
  if (moved !== undefined && moved > 0)
    log.info(
      { event: 'migrated', names: moved },
      'migrated identity names: they are now compared by case folding only',
    )
}

/** Rows of versions without namespaces: prefix, and number of segments of their keys. */
const unplacedRows = [
  ['entity-name/', 2],
  ['entity-alias/', 3],
] as const

async function deleteUnplacedRows(view: View): Promise<void> {
  for (const [prefix, segments] of unplacedRows)
    for await (const page of view.keyPages(prefix)) {
      const old = page.filter((key) => key.split('/').length === segments)
      if (old.length > 0) await view.write(old.map((key) => ({ key, value: undefined })))
    }
}

class NameMoves {
  readonly #view: View
  readonly #keys: IdentityKeys
  readonly #records: EntityRecords

  constructor(view: View, keys: IdentityKeys) {
    this.#view = view
    this.#keys = keys
    this.#records = new EntityRecords(view, keys)
  }

  async ofEntity(key: string, value: unknown): Promise<ViewEntry[]> {
    const entity = readEntity(value)
    const { id, name, aliases } = entity
    if (key !== entityKey(id)) return this.#place(key, entity)
    const namespace = namespaceIdOf(id)
    const entries = await this.#move(
      `entity-name/${namespace}/${this.#keys.wideHashOf('entity', namespace, name)}`,
      this.#keys.entityName(namespace, name),
      id,
    )
    for (const alias of aliases) {
      const { mount_accessor: mount, name: aliasName } = alias
      const old = `entity-alias/${namespace}/${mount}/${this.#keys.wideHashOf('alias', namespace, aliasName)}`
      entries.push(
        ...(await this.#move(old, this.#keys.alias(namespace, mount, aliasName), id)),
        ...this.#records.alikeEntries(aliasNameOf(entity, alias), id),
      )
    }
    return entries
  }

  /** Stores an entity of a version without namespaces in its namespace. */
  #place(key: string, entity: Entity): ViewEntry[] {
    const { id, name, aliases } = entity
    const namespace = namespaceIdOf(id)
    const ofAliases = aliases.flatMap((alias) => [
      { key: this.#keys.alias(namespace, alias.mount_accessor, alias.name), value: id },
      { key: aliasIdKey(alias.id), value: id },
      ...this.#records.alikeEntries(aliasNameOf(entity, alias), id),
    ])
    return [
      { key: entityKey(id), value: entity },
      { key, value: undefined },
      { key: this.#keys.entityName(namespace, name), value: id },
      ...ofAliases,
    ]
  }

  async ofGroup(value: unknown): Promise<ViewEntry[]> {
    const { id, name, alias } = readGroup(value)
    const namespace = namespaceIdOf(id)
    const names = namePrefix(namespace)
    const hashes = (kind: 'group' | 'group-alias', of: string) =>
      [this.#keys.wideHashOf(kind, namespace, of), this.#keys.hashOf(kind, namespace, of)] as const
    const [oldName, newName] = hashes('group', name)
    const entries = await this.#move(names + oldName, names + newName, id)
    if (alias === null) return entries
    const aliases = aliasPrefix(namespace, alias.mount_accessor)
    const [oldAlias, newAlias] = hashes('group-alias', alias.name)
    const row: AliasRow = { group: id, name: foldedName(alias.name) }
    return [...entries, ...(await this.#move(aliases + oldAlias, aliases + newAlias, row))]
  }

  /** Moves a row only if it has the same target: the key may hold the row of a similar name. */
  async #move(from: string, to: string, value: string | AliasRow): Promise<ViewEntry[]> {
    if (from === to) return []
    const known = await this.#view.get(from)
    const target = typeof value === 'string' ? value : value.group
    const isOwn =
      known === target ||
      (typeof known === 'object' && known !== null && 'group' in known && known.group === target)
    return isOwn
      ? [
          { key: to, value },
          { key: from, value: undefined },
        ]
      : []
  }
}
