import { pagesOf, slicesOf } from './pages.ts'

/** The items in order; those that compare as equal stay in the order in which they are given. */
export async function sorted<T>(
  items: readonly T[],
  compare: (one: T, other: T) => number,
): Promise<readonly T[]> {
  let runs: (readonly T[])[] = []
  for await (const page of pagesOf(items)) runs.push(page.toSorted(compare))
  while (runs.length > 1) {
    const merged: (readonly T[])[] = []
    for (const [one = [], other = []] of slicesOf(runs, 2)) merged.push(await mergedRuns(one, other, compare))
    runs = merged
  }
  return runs[0] ?? []
}

async function mergedRuns<T>(
  some: readonly T[],
  others: readonly T[],
  compare: (one: T, other: T) => number,
): Promise<readonly T[]> {
  const merged: T[] = []
  let at = 0
  for await (const page of pagesOf(some))
    for (const item of page) {
      for (let other = others[at]; other !== undefined && compare(other, item) < 0; other = others[at]) {
        merged.push(other)
        at += 1
      }
      merged.push(item)
    }
  for await (const page of pagesOf(others.slice(at))) merged.push(...page)
  return merged
}
