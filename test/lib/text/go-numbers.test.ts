import { expect, test } from 'vitest'
import { parseWholeNumber } from '../../../src/lib/text/go-numbers.ts'

test.each([
  '1'.repeat(20_000_000),
  `0x${'1'.repeat(20_000_000)}p0`,
  `0x${'1'.repeat(20_000_000)}`,
  '_1'.repeat(10_000_000),
  `1${'_1'.repeat(10_000_000)}`,
])('a number of megabytes is out of range', (text) => {
  expect(parseWholeNumber(text)).toEqual({ error: 'value out of range' })
})

test('leading zeros do not change a number', () => {
  expect(parseWholeNumber(`0x${'0'.repeat(4000)}1f`)).toEqual({ number: 31 })
})
