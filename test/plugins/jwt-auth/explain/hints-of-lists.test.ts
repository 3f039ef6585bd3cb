import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonNumber } from '../../../../src/lib/text/json.ts'
import { type Hint, nearMiss } from '../../../../src/logins/refusals/hints.ts'

const order: readonly Hint[] = [
  'glob_in_string_mode',
  'differs_in_type',
  'differs_in_case',
  'differs_in_white_space',
  'differs_in_trailing_slash',
  '',
]
const values = fc.array(
  fc.constantFrom<unknown>(
    'a',
    'A',
    'a ',
    'a/',
    'A/',
    'a*',
    '*',
    'a,b',
    '[a]',
    'b',
    '1',
    1,
    1n,
    true,
    'true',
    null,
    [],
    jsonNumber('1'),
  ),
  { maxLength: 6 },
)

test('a hint for lists applies to any pair of their values', () => {
  fc.assert(
    fc.property(values, values, fc.boolean(), (expected, seen, isLiteral) => {
      const ofPairs = expected.flatMap((one) =>
        seen.map((other) => nearMiss({ expected: [one], seen: [other], isLiteral })),
      )
      expect(nearMiss({ expected, seen, isLiteral })).toBe(order.find((hint) => ofPairs.includes(hint)) ?? '')
    }),
  )
})

test('values beyond the first hundred are ignored', () => {
  const others = Array.from({ length: 100 }, (_, at) => `x${at}`)

  expect(nearMiss({ expected: ['A'], seen: [...others.slice(1), 'a'], isLiteral: true })).toBe(
    'differs_in_case',
  )
  expect(nearMiss({ expected: ['A'], seen: [...others, 'a'], isLiteral: true })).toBe('')
})
