import { describe, expect, test } from 'vitest'
import { parseFloatingPoint, parseWholeNumber } from '../../src/lib/numbers.ts'

describe.each([
  { name: 'whole', parse: parseWholeNumber },
  { name: 'floating', parse: parseFloatingPoint },
])('$name numbers of megabytes', ({ parse }) => {
  test.each([
    '1'.repeat(20_000_000),
    `0x${'1'.repeat(20_000_000)}p0`,
    `0x${'1'.repeat(20_000_000)}`,
    '_1'.repeat(10_000_000),
    `1${'_1'.repeat(10_000_000)}`,
  ])('$0', (text) => {
    expect(parse(text)).toEqual({ error: 'value out of range' })
  })
})

test('zeros before a number change nothing', () => {
  expect(parseWholeNumber(`0x${'0'.repeat(4000)}1f`)).toEqual({ number: 31 })
  expect(parseFloatingPoint(`${'0'.repeat(4000)}1.5`)).toEqual({ number: 1.5 })
})
