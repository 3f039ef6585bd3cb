import { expect, test } from 'vitest'
import { sorted } from '../../../src/lib/data/sorting.ts'

type Item = { readonly rank: number; readonly at: number }

test.each([0, 1, 255, 256, 257, 768, 5_003])(
  '%i items are sorted, and equal ones keep their order',
  async (count) => {
    const items = Array.from({ length: count }, (_, at): Item => ({ rank: (at * 7919) % 97, at }))
    const compare = (one: Item, other: Item) => one.rank - other.rank

    expect(await sorted(items, compare)).toEqual(items.toSorted(compare))
  },
)
