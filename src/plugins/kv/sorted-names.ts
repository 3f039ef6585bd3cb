import type { LongWork } from '../../lib/long-work.ts'
import { compareBytes } from './pages.ts'

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
