import { expect, test } from 'vitest'
import { atOnce } from '../../../src/lib/concurrency/in-turns.ts'
import { sorting } from '../../../src/lib/data/sorting.ts'

type Item = { readonly rank: number; readonly at: number }

test.each([0, 1, 255, 256, 257, 768, 5_003])(
  '%i items are sorted, and equal ones keep their order',
  (count) => {
    const items = Array.from({ length: count }, (_, at): Item => ({ rank: (at * 7919) % 97, at }))
    const compare = (one: Item, other: Item) => one.rank - other.rank

    expect(atOnce(sorting(items, compare))).toEqual(items.toSorted(compare))
  },
)

test('many items are sorted in many steps', () => {
  const steps = sorting(
    Array.from({ length: 4_096 }, (_, at) => (at * 7919) % 4_096),
    (one, other) => one - other,
  )
  let pauses = 0
  while (steps.next().done !== true) pauses += 1

  // 16 runs of 256 items, which are merged four times
  expect(pauses).toBeGreaterThan(16 + 3 * 15)
})
