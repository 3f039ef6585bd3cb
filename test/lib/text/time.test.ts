import { describe, expect, test } from 'vitest'
import { jsonNumber } from '../../../src/lib/text/json.ts'
import {
  formatTime,
  hasFourDigitYear,
  parseTime,
  timeMilliseconds,
  timeNanoseconds,
} from '../../../src/lib/text/time.ts'

describe('times in requests', () => {
  test.each([
    ['2024-01-02T03:04:05Z', '2024-01-02T03:04:05Z'],
    ['2024-01-02T03:04:05.123456789Z', '2024-01-02T03:04:05.123456789Z'],
    ['2024-01-02T03:04:05.000Z', '2024-01-02T03:04:05Z'],
    ['2024-01-02T03:04:05.500Z', '2024-01-02T03:04:05.5Z'],
    ['2024-01-02T03:04:05+02:00', '2024-01-02T01:04:05Z'],
    ['2024-01-01T00:30:00.000000001+05:45', '2023-12-31T18:45:00.000000001Z'],
    ['2023-12-31T23:30:00-01:00', '2024-01-01T00:30:00Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00Z'],
    ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00Z'],
    ['0099-12-31T23:59:59Z', '0099-12-31T23:59:59Z'],
    ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59Z'],
    ['2024-01-02T3:04:05Z', '2024-01-02T03:04:05Z'],
    ['2024-01-02T03:04:05,5Z', '2024-01-02T03:04:05.5Z'],
    [jsonNumber('1700000000'), '2023-11-14T22:13:20Z'],
    [1_700_000_000, '2023-11-14T22:13:20Z'],
    ['1700000000', '2023-11-14T22:13:20Z'],
    [jsonNumber('0'), '1970-01-01T00:00:00Z'],
    [jsonNumber('-1'), '1969-12-31T23:59:59Z'],
    ['-1', '1969-12-31T23:59:59Z'],
  ])('%j is %s, and that is itself', (input, time) => {
    expect(parseTime(input)).toEqual({ time })
    expect(parseTime(time)).toEqual({ time })
    expect(hasFourDigitYear(time)).toBe(true)
  })

  test.each([
    '',
    '2024-01-02',
    '2024-01-02T03:04:05',
    '2024-01-02 03:04:05Z',
    '2024-01-02t03:04:05Z',
    '2024-01-02T03:04:05z',
    '2024-13-02T03:04:05Z',
    '2024-00-02T03:04:05Z',
    '2024-02-30T03:04:05Z',
    '2023-02-29T03:04:05Z',
    '2024-01-00T03:04:05Z',
    '2024-01-02T24:00:00Z',
    '2024-01-02T03:60:05Z',
    '2024-01-02T03:04:60Z',
    '2024-01-02T03:04:05+24:00',
    '12024-01-02T03:04:05Z',
    '2024-01-02T03:04:05Z ',
    '1.5',
    'now',
  ])('%j is not a time', (input) => {
    expect(parseTime(input)).toEqual({ error: 'could not parse string as date and time' })
  })

  test.each(['1.5', '1e3'])('the number %s is not a time', (text) => {
    expect(parseTime(jsonNumber(text))).toEqual({
      error: `strconv.ParseInt: parsing "${text}": invalid syntax`,
    })
  })

  test.each([true, null, undefined].map((input) => [input]).concat([[[] as never], [{} as never]]))(
    '%j contains no time',
    (input) => {
      expect(parseTime(input)).toEqual({ error: 'could not parse time from input type' })
    },
  )

  test.each([
    '9999-12-31T23:59:59-01:00',
    '0000-01-01T00:00:00+01:00',
    jsonNumber('253402300800'),
    '9223372036854775807',
    '-9223372036854775807',
  ])('%j is a time of a year that cannot be stored', (input) => {
    const parsed = parseTime(input)

    expect('time' in parsed && hasFourDigitYear(parsed.time)).toBe(false)
    expect('time' in parsed).toBe(true)
  })
})

test.each([
  [0, '1970-01-01T00:00:00Z'],
  [1, '1970-01-01T00:00:00.001Z'],
  [-1, '1969-12-31T23:59:59.999Z'],
  [1_700_000_000_500, '2023-11-14T22:13:20.5Z'],
])('%d milliseconds are written %s and read back', (milliseconds, time) => {
  expect(formatTime(milliseconds)).toBe(time)
  expect(timeNanoseconds(time)).toBe(BigInt(milliseconds) * 1_000_000n)
  expect(timeMilliseconds(time)).toBe(milliseconds)
})

test('nanoseconds distinguish two times', () => {
  expect(
    timeNanoseconds('2024-01-02T03:04:05.000000002Z') - timeNanoseconds('2024-01-02T03:04:05.000000001Z'),
  ).toBe(1n)
})
