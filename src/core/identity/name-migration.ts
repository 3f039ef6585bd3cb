import { setImmediate as nextTurn } from 'node:timers/promises'
import type { View, ViewEntry } from '../barrier/view.ts'
import { namespaceIdOf } from '../namespaces/suffix.ts'
import { readEntity } from './entity.ts'
import { EntityRecords, placeOf } from './entity-records.ts'
import { readGroup } from './group.ts'
import { aliasPrefix, namePrefix } from './group-keys.ts'
import type { AliasRow } from './group-reader.ts'
import type { IdentityKeys } from './identity-keys.ts'
import { foldedName } from './same-name.ts'

/** Says that the rows of names lie under hashes of their folded form. A store without it has them under hashes of the canonical form. */
const doneKey = 'identity-names'
const done = 'folded'
const pageSize = 200

export type NameMigrationParts = {
  readonly view: View
  readonly keys: IdentityKeys
  /** Told of a record that cannot be read: it stays as it is. */
  onFailure(key: string, error: unknown): void
}

/**
 * Moves the rows by which entities and groups are found from where names of one canonical form had one row, to where each name has its own: afterwards each
 * is found by its own name. Rows of names that are in canonical form stay. To be called before anyone else reads or writes names; what a crash cut short is
 * done again. Gives back how many names moved; undefined when there was nothing to look at.
 */
export async function migrateNames({ view, keys, onFailure }: NameMigrationParts): Promise<number | undefined> {
  if ((await view.get(doneKey)) === done) return undefined
  const moves = new NameMoves(view, keys)
  let moved = 0
  for (const [prefix, movesOf] of [
    ['entity/', (value: unknown) => moves.ofEntity(value)] as const,
    ['group/', (value: unknown) => moves.ofGroup(value)] as const,
  ]) {
    for (let after: string | undefined; ; await nextTurn()) {
      const page: string[] = await view.listKeys(prefix, { limit: pageSize, ...(after === undefined ? {} : { after }) })
      const entries: ViewEntry[] = []
      for (const key of page) {
        try {
          entries.push(...(await movesOf(await view.get(key))))
        } catch (error) {
          onFailure(key, error)
        }
      }
      if (entries.length > 0) await view.write(entries)
      moved += entries.filter(({ value }) => value === undefined).length
      after = page.at(-1)
      if (after === undefined) break
    }
  }
  // a disk that takes no writes now keeps nobody from reading: the next start looks again
  await view.write([{ key: doneKey, value: done }]).catch((error: unknown) => onFailure(doneKey, error))
  return moved
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

  async ofEntity(value: unknown): Promise<ViewEntry[]> {
    const entity = readEntity(value)
    const { id, name, aliases } = entity
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
        ...this.#records.alikeEntries(placeOf(entity, alias), id),
      )
    }
    return entries
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

  /** Only a row that leads to where this one does: that of another name may have come to lie there. */
  async #move(from: string, to: string, value: string | AliasRow): Promise<ViewEntry[]> {
    if (from === to) return []
    const known = await this.#view.get(from)
    const target = typeof value === 'string' ? value : value.group
    const isOwn = known === target || (typeof known === 'object' && known !== null && 'group' in known && known.group === target)
    return isOwn
      ? [
          { key: to, value },
          { key: from, value: undefined },
        ]
      : []
  }
}
