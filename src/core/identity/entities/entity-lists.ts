import { pageSize } from '../../../lib/data/pages.ts'
import { sorted } from '../../../lib/data/sorting.ts'
import { namespaceIdOf } from '../../namespaces/suffix.ts'
import { type EntityAlias, firstAliasId } from './entity.ts'
import type { EntityRecords } from './entity-records.ts'

/** A range of a list: at most `limit` items (0: all) after `after` (empty: from the start). */
export type ListRange = { readonly after: string; readonly limit: number }

/**
 * Sorts the names of all items, since storage orders them by hash. With a limit, memory stays bounded by
 * about twice the limit.
 */
export async function namesInOrder(
  items: AsyncIterable<{ readonly name: string }>,
  { after, limit }: ListRange,
): Promise<readonly string[]> {
  let names: string[] = []
  for await (const { name } of items) {
    if (name <= after) continue
    names.push(name)
    if (limit > 0 && names.length >= 2 * limit + pageSize)
      names = (await sorted(names, inUnits)).slice(0, limit)
  }
  const all = await sorted(names, inUnits)
  return limit > 0 ? all.slice(0, limit) : all
}

const inUnits = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

/**
 * Aliases of a namespace, ordered by id. Merges two iterations: one over entities, for aliases whose id is
 * derived from the entity's id, and one over alias id rows, for the others.
 */
export const aliasesOf = (
  records: EntityRecords,
  namespace: string,
  after: string,
): AsyncGenerator<EntityAlias, void, undefined> =>
  inOrder(firstAliases(records, namespace, after), otherAliases(records, namespace, after))

/** Length of the prefix that the ids of an entity and its first alias share. */
const sharedDigits = 14

async function* firstAliases(
  records: EntityRecords,
  namespace: string,
  after: string,
): AsyncGenerator<EntityAlias, void, undefined> {
  for await (const entity of records.all(namespace, after.slice(0, sharedDigits))) {
    const id = firstAliasId(entity.id)
    const alias = id > after ? entity.aliases.find((one) => one.id === id) : undefined
    if (alias !== undefined) yield alias
  }
}

async function* otherAliases(
  records: EntityRecords,
  namespace: string,
  after: string,
): AsyncGenerator<EntityAlias, void, undefined> {
  for await (const { id, entityId } of records.aliasIds(namespace, after)) {
    const stored = namespaceIdOf(entityId) === namespace ? await records.ofAnyNamespace(entityId) : undefined
    const alias = stored?.entity.aliases.find((one) => one.id === id)
    if (alias !== undefined) yield alias
  }
}

async function* inOrder(
  a: AsyncGenerator<EntityAlias>,
  b: AsyncGenerator<EntityAlias>,
): AsyncGenerator<EntityAlias, void, undefined> {
  let [left, right] = [await a.next(), await b.next()]
  while (left.done !== true || right.done !== true) {
    if (right.done === true || (left.done !== true && left.value.id < right.value.id)) {
      if (left.done !== true) yield left.value
      left = await a.next()
    } else {
      yield right.value
      right = await b.next()
    }
  }
}
