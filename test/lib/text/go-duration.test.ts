import { describe, expect, test } from 'vitest'
import { goDuration, parseDuration, shortDuration } from '../../../src/lib/text/go-duration.ts'
import { jsonNumber } from '../../../src/lib/text/json.ts'

const overflow = 'multiplication of durations resulted in overflow, one operand may be too large'

test.each([
  ['500ms', 0.5],
  ['1500ms', 1.5],
  ['1.0009s', 1],
  ['1us', 0],
  ['90', 90],
  ['1m0.25s', 60.25],
])('%s read exactly is %d', (text, seconds) => {
  expect(parseDuration(text, { exact: true })).toEqual({ seconds })
})

test('what is not a duration is not read as one', () => {
  expect(parseDuration('-500ms', { exact: true })).toEqual({ error: "cannot provide negative value '-0.5'" })
  expect(parseDuration('1.5', { exact: true })).toEqual(parseDuration('1.5'))
})

describe('durations in requests', () => {
  test.each([
    ['', 0],
    [jsonNumber('90'), 90],
    [90, 90],
    ['90', 90],
    ['+90', 90],
    [jsonNumber('0'), 0],
    ['1h', 3600],
    ['1.5h', 5400],
    ['.5h', 1800],
    ['1.h', 3600],
    ['1h30m', 5400],
    ['1h30m0s', 5400],
    ['7d', 604_800],
    ['0d', 0],
    ['+1d', 86_400],
    ['500ms', 0],
    ['1us', 0],
    ['1\u{b5}s', 0],
    ['1\u{3bc}s', 0],
    ['1500ms', 1],
    ['-500ms', 0],
    ['-0', 0],
    ['0', 0],
    ['+0s', 0],
    ['0.999999999999999999999s', 0],
    ['9223372036', 9_223_372_036],
    ['000000000000000000000000090', 90],
    ['106751d', 9_223_286_400],
    ['2562047h', 9_223_369_200],
    ['0.1h0.1h', 720],
  ])('%j is %d seconds, signed or not', (input, seconds) => {
    expect(parseDuration(input)).toEqual({ seconds })
    expect(parseDuration(input, { signed: true })).toEqual({ seconds })
  })

  test.each([
    [jsonNumber('-90'), -90],
    ['-90', -90],
    ['-1h', -3600],
    ['-1.5s', -1],
    ['-1d', -86_400],
    ['-9223372036', -9_223_372_036],
  ])('%j is below zero', (input, seconds) => {
    expect(parseDuration(input, { signed: true })).toEqual({ seconds })
    expect(parseDuration(input)).toEqual({ error: `cannot provide negative value '${seconds}'` })
  })

  test.each([
    ['1d12h', 'time: unknown unit "d" in duration "1d12h"'],
    ['1w', 'time: unknown unit "w" in duration "1w"'],
    ['1y', 'time: unknown unit "y" in duration "1y"'],
    ['1hr', 'time: unknown unit "hr" in duration "1hr"'],
    ['12h1d', 'strconv.ParseInt: parsing "12h1": invalid syntax'],
    ['1.5d', 'strconv.ParseInt: parsing "1.5": invalid syntax'],
    ['d', 'strconv.ParseInt: parsing "": invalid syntax'],
    ['\u{e9}d', 'strconv.ParseInt: parsing "\u{e9}": invalid syntax'],
    ['99999999999999999999d', 'strconv.ParseInt: parsing "99999999999999999999": value out of range'],
    [jsonNumber('1.5'), 'time: missing unit in duration "1.5"'],
    ['1.5', 'time: missing unit in duration "1.5"'],
    [jsonNumber('1e3'), 'time: unknown unit "e" in duration "1e3"'],
    ['1_000', 'time: unknown unit "_" in duration "1_000"'],
    ['0x10', 'time: unknown unit "x" in duration "0x10"'],
    [' 10m', 'time: invalid duration " 10m"'],
    ['10m ', 'time: unknown unit "m " in duration "10m "'],
    ['1H', 'time: unknown unit "H" in duration "1H"'],
    ['h', 'time: invalid duration "h"'],
    ['abc', 'time: invalid duration "abc"'],
    ['-', 'time: invalid duration "-"'],
    ['--1', 'time: invalid duration "--1"'],
    ['.s', 'time: invalid duration ".s"'],
    ['1h1', 'time: missing unit in duration "1h1"'],
    ['"\u{e9}', 'time: invalid duration "\\"\\xc3\\xa9"'],
    [true, 'could not parse duration from input'],
    [[], 'could not parse duration from input'],
    [{}, 'could not parse duration from input'],
    ['9223372037', overflow],
    ['-9223372037', overflow],
    ['9223372036854775807', overflow],
    ['106752d', overflow],
    ['9223372036854775808', 'time: missing unit in duration "9223372036854775808"'],
    ['9223372036854775809', 'time: invalid duration "9223372036854775809"'],
    ['2562048h', 'time: invalid duration "2562048h"'],
    ['9223372036s855ms', 'time: invalid duration "9223372036s855ms"'],
    ['constructor', 'time: invalid duration "constructor"'],
    ['1constructor', 'time: unknown unit "constructor" in duration "1constructor"'],
  ])('%j is refused', (input, error) => {
    expect(parseDuration(input, { signed: true })).toEqual({ error })
    expect(parseDuration(input)).toEqual({ error })
  })

  test.each([
    ['digits', '1'.repeat(1_000_000)],
    ['units', '9h'.repeat(500_000)],
    ['zeros', '0s'.repeat(500_000) + 'x'],
    ['days', `${'9'.repeat(1_000_000)}d`],
  ])('a megabyte of %s is refused with a short text', (_, text) => {
    const parsed = parseDuration(text)

    expect('error' in parsed && parsed.error.length < 600).toBe(true)
  })
})

test.each([
  [0, '0s', '0s'],
  [45, '45s', '45s'],
  [60, '1m0s', '1m'],
  [90, '1m30s', '1m30s'],
  [3600, '1h0m0s', '1h'],
  [3605, '1h0m5s', '1h5s'],
  [5400, '1h30m0s', '1h30m'],
  [2832, '47m12s', '47m12s'],
  [2_764_800, '768h0m0s', '768h'],
  [-90, '-1m30s', '-1m30s'],
])('%d seconds are written %s, or short %s', (seconds, plain, short) => {
  expect(goDuration(seconds)).toBe(plain)
  expect(shortDuration(seconds)).toBe(short)
})

test.each([
  [1.5, '1.5s'],
  [0.5, '500ms'],
  [-0.001, '-1ms'],
  [61.25, '1m1.25s'],
])('%d seconds are written %s', (seconds, plain) => {
  expect(goDuration(seconds)).toBe(plain)
})
