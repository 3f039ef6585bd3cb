import { Buffer } from 'node:buffer'
import { expect, test } from 'vitest'
import { sortedNames } from '../../../src/core/sealed-names/sorted-names.ts'

test.each([0, 1, 255, 256, 257, 5_003])(
  '%i names are sorted by their bytes, and each is named once',
  async (count) => {
    const endings = ['', '/', 'é', '\u{ffee}', '\u{1f600}']
    const names = Array.from({ length: count }, (_, index) => `${(index * 7919) % 1999}${endings[index % 5]}`)

    const sorted = await sortedNames(names)

    expect(sorted).toEqual(
      [...new Set(names)].toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other))),
    )
  },
)
