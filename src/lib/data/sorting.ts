import type { Steps } from '../concurrency/in-turns.ts'
import { slicesOf } from './slices.ts'

/** So many items are sorted or merged in one step. */
const perStep = 256

/** The items in order; those that compare as equal stay in the order in which they are given. */
export function* sorting<T>(items: readonly T[], compare: (one: T, other: T) => number): Steps<readonly T[]> {
  let runs: (readonly T[])[] = []
  for (const some of slicesOf(items, perStep)) {
    runs.push(some.toSorted(compare))
    yield
  }
  while (runs.length > 1) {
    const merged: (readonly T[])[] = []
    for (const [some = [], others] of slicesOf(runs, 2))
      merged.push(others === undefined ? some : yield* merging(some, others, compare))
    runs = merged
  }
  return runs[0] ?? []
}

function* merging<T>(
  some: readonly T[],
  others: readonly T[],
  compare: (one: T, other: T) => number,
): Steps<readonly T[]> {
  const merged: T[] = []
  let at = 0
  for (const item of some) {
    for (let other = others[at]; other !== undefined && compare(other, item) < 0; other = others[at]) {
      merged.push(other)
      at += 1
      if (merged.length % perStep === 0) yield
    }
    merged.push(item)
    if (merged.length % perStep === 0) yield
  }
  for (const rest of slicesOf(others.slice(at), perStep)) merged.push(...rest)
  return merged
}
