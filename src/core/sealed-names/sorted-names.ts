import type { LongWork } from '../../lib/concurrency/long-work.ts'

/** So many names are sorted, or so many are merged, between two looks at the time. */
const atOnce = 256

/** Without these, the order of UTF-16 code units is that of the bytes, and comparing them takes a tenth of the time. */
const ordersOtherwise = /[\ud800-\uffff]/

type Compare = (one: string, other: string) => number

const compareUnits: Compare = (one, other) => (one < other ? -1 : one > other ? 1 : 0)

/** The distinct names in byte order. A million of them take seconds: other work runs in between. */
export async function sortedNames(names: readonly string[], work: LongWork): Promise<readonly string[]> {
  let runs: string[][] = []
  let compare = compareUnits
  for (let at = 0; at < names.length; at += atOnce) {
    const some = names.slice(at, at + atOnce)
    if (some.some((name) => ordersOtherwise.test(name))) compare = compareBytes
    runs.push([...new Set(some)])
    if (work.isDue) await work.giveWay()
  }
  for (const run of runs) {
    run.sort(compare)
    if (work.isDue) await work.giveWay()
  }
  while (runs.length > 1) {
    const merged: string[][] = []
    for (let at = 0; at < runs.length; at += 2)
      merged.push(await mergedNames(runs[at] ?? [], runs[at + 1] ?? [], { compare, work }))
    runs = merged
  }
  return runs[0] ?? []
}

/** The names of two sorted lists, each once. */
async function mergedNames(
  some: readonly string[],
  others: readonly string[],
  { compare, work }: { readonly compare: Compare; readonly work: LongWork },
): Promise<string[]> {
  const merged: string[] = []
  for (let one = 0, other = 0; one < some.length || other < others.length; ) {
    const first = some[one]
    const second = others[other]
    const order = first === undefined ? 1 : second === undefined ? -1 : compare(first, second)
    const name = order <= 0 ? first : second
    if (order <= 0) one += 1
    if (order >= 0) other += 1
    if (name === undefined) break
    merged.push(name)
    if (merged.length % atOnce === 0 && work.isDue) await work.giveWay()
  }
  return merged
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
