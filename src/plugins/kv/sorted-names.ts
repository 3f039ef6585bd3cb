import type { LongWork } from '../../lib/long-work.ts'
import { compareBytes } from './pages.ts'

/** So many names are sorted, or so many are merged, between two looks at the time. */
const atOnce = 256

/** The distinct names in byte order. A million of them take seconds: other work runs in between. */
export async function sortedNames(names: readonly string[], work: LongWork): Promise<readonly string[]> {
  let runs: string[][] = []
  for (let at = 0; at < names.length; at += atOnce) {
    runs.push([...new Set(names.slice(at, at + atOnce))].sort(compareBytes))
    if (work.isDue) await work.giveWay()
  }
  while (runs.length > 1) {
    const merged: string[][] = []
    for (let at = 0; at < runs.length; at += 2)
      merged.push(await mergedNames(runs[at] ?? [], runs[at + 1] ?? [], work))
    runs = merged
  }
  return runs[0] ?? []
}

/** The names of two sorted lists, each once. */
async function mergedNames(
  some: readonly string[],
  others: readonly string[],
  work: LongWork,
): Promise<string[]> {
  const merged: string[] = []
  for (let one = 0, other = 0; one < some.length || other < others.length; ) {
    const first = some[one]
    const second = others[other]
    const order = first === undefined ? 1 : second === undefined ? -1 : compareBytes(first, second)
    const name = order <= 0 ? first : second
    if (order <= 0) one += 1
    if (order >= 0) other += 1
    if (name === undefined) break
    merged.push(name)
    if (merged.length % atOnce === 0 && work.isDue) await work.giveWay()
  }
  return merged
}
