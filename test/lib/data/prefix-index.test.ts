import { expect, test } from 'vitest'
import { PrefixIndex } from '../../../src/lib/data/prefix-index.ts'

test.each([
  { text: 'a', found: undefined },
  { text: 'ab', found: 'ab' },
  { text: 'abz', found: 'ab' },
  { text: 'abcx', found: 'abc' },
  { text: 'abcd', found: 'abcd' },
  { text: 'abd', found: 'abd' },
  { text: 'abda', found: 'abd' },
  { text: 'b', found: undefined },
])('the longest prefix of $text is $found', ({ text, found }) => {
  const index = new PrefixIndex(['abd', 'ab', 'abcd', 'abc', 'c'].map((prefix) => [prefix, prefix]))

  expect(index.longest(text)).toBe(found)
})

test('the empty prefix is one of every text', () => {
  expect(new PrefixIndex([['', 1]]).longest('x')).toBe(1)
  expect(new PrefixIndex([]).longest('')).toBeUndefined()
})
