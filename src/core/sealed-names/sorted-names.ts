import { pagesOf } from '../../lib/data/pages.ts'
import { sorted } from '../../lib/data/sorting.ts'

/** Without these, the order of UTF-16 code units is that of the bytes, and comparing them takes a tenth of the time. */
const ordersOtherwise = /[\ud800-\uffff]/

const compareUnits = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

/** The distinct names in byte order. */
export async function sortedNames(names: readonly string[]): Promise<readonly string[]> {
  const distinct = new Set<string>()
  let compare = compareUnits
  for await (const page of pagesOf(names))
    for (const name of page) {
      distinct.add(name)
      if (ordersOtherwise.test(name)) compare = compareBytes
    }
  return await sorted([...distinct], compare)
}

/** The names after one; at most `limit`, or all if that is 0. */
export type NameRange = { readonly after: string; readonly limit: number }

/** Which of two texts comes first in the order of their UTF-8 bytes. */
function compareBytes(one: string, other: string): number {
  const end = Math.min(one.length, other.length)
  for (let at = 0; at < end; at += 1) {
    const a = one.charCodeAt(at)
    const b = other.charCodeAt(at)
    if (a !== b) return rank(a) - rank(b)
  }
  return one.length - other.length
}

/** A surrogate stands for a character above all those of one unit. */
const rank = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit)

/** The part of sorted names that a list asks for: the same array if it is all of them. */
export function pageOf(names: readonly string[], { after, limit }: NameRange): readonly string[] {
  if (after === '' && limit <= 0) return names
  const from = after === '' ? 0 : firstAfter(names, after)
  return names.slice(from, limit > 0 ? from + limit : undefined)
}

/** Where the names behind `after` begin. */
export function firstAfter(names: readonly string[], after: string): number {
  let [low, high] = [0, names.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareBytes(names[middle] ?? '', after) <= 0) low = middle + 1
    else high = middle
  }
  return low
}
