import { areEqual, compare, contains } from './compare.ts'
import { type Definition, define, method } from './functions.ts'
import { bool, int, list, optional } from './kinds.ts'
import { CelError, isList, noOverload, Optional, typeName, type Value } from './values.ts'
import type { Work } from './work.ts'

type List = readonly Value[]

function slice(items: List, from: bigint, to: bigint): List {
  const length = BigInt(items.length)
  if (from < 0n || to < 0n) throw new CelError(`cannot slice(${from}, ${to}), negative indexes not supported`)
  if (from > to)
    throw new CelError(`cannot slice(${from}, ${to}), start index must be less than or equal to end index`)
  if (to > length) throw new CelError(`cannot slice(${from}, ${to}), list is length ${length}`)
  return items.slice(Number(from), Number(to))
}

function flatten(items: List, depth: bigint, work: Work): List {
  if (depth < 0n) throw new CelError('level must be non-negative')
  const flat: Value[] = []
  const add = (item: Value, inside: number): void => {
    work.level(inside)
    if (!isList(item) || inside > depth) {
      flat.push(item)
      work.list(flat.length, 1)
    } else for (const inner of item) add(inner, inside + 1)
  }
  for (const item of items) add(item, 1)
  return flat
}

/** Throws unless all are of one type that has an order. */
export function sortedBy(items: List, keys: List, work: Work): List {
  const [first] = keys
  if (first === undefined) return items
  compare(first, first, work)
  if (keys.some((key) => typeName(key) !== typeName(first)))
    throw new CelError('list elements must have the same type')
  work.list(items.length)
  const order = keys.map((_key, at) => at)
  order.sort((one, other) => compare(keys[one] ?? null, keys[other] ?? null, work) ?? 0)
  return order.map((at) => items[at] ?? null)
}

function distinct(items: List, work: Work): List {
  const found: Value[] = []
  for (const item of items) if (!contains(found, item, work)) found.push(item)
  return found
}

function range(length: bigint, work: Work): List {
  const count = Math.max(0, Number(length))
  work.list(count)
  return Array.from({ length: count }, (_item, at) => BigInt(at))
}

const reversed = (items: List, work: Work): List => {
  work.list(items.length)
  return items.toReversed()
}

const isWithin = (all: List, part: List, work: Work): boolean =>
  part.every((item) => contains(all, item, work))

/** docs/contract/cel.md#functions */
export const listFunctions: readonly Definition[] = [
  method('slice', [list, int, int], list, slice),
  method('flatten', [list], list, (items, work) => flatten(items, 1n, work)),
  method('flatten', [list, int], list, flatten),
  method('sort', [list], list, (items, work) => sortedBy(items, items, work)),
  method('distinct', [list], list, distinct),
  method('reverse', [list], list, reversed),
  method('first', [list], optional, (items) => new Optional(items[0])),
  method('last', [list], optional, (items) => new Optional(items.at(-1))),
  define('lists.range', [int], list, range),
  define('sets.contains', [list, list], bool, isWithin),
  define(
    'sets.equivalent',
    [list, list],
    bool,
    (one, other, work) => isWithin(one, other, work) && isWithin(other, one, work),
  ),
  define('sets.intersects', [list, list], bool, (one, other, work) =>
    one.some((item) => other.some((wanted) => areEqual(item, wanted, work))),
  ),
]

/** The greatest or the least of values. They must be numbers. */
export function extreme(values: List, isGreatest: boolean, work: Work): Value {
  const [first, ...others] =
    values.length === 1 && values[0] !== undefined && isList(values[0]) ? values[0] : values
  if (first === undefined) throw new CelError('math.@max(list) argument must not be empty')
  return [first, ...others].reduce((best, value) => {
    if (!['int', 'uint', 'double'].includes(typeName(value))) throw noOverload()
    const order = compare(value, best, work) ?? 0
    return (isGreatest ? order > 0 : order < 0) ? value : best
  })
}
