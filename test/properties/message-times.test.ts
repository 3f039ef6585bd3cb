import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatInstant, hasFourDigitYear, parseTime, timeNanoseconds } from '../../src/lib/text/time.ts'
import { isActive, nextChange } from '../../src/plugins/custom-messages/active-window.ts'

const secondNs = 1_000_000_000n
const firstSecond = BigInt(Date.UTC(0, 0, 1)) / 1000n
const lastSecond = BigInt(Date.UTC(9999, 11, 31, 23, 59, 59)) / 1000n
const anInstant = fc
  .tuple(
    fc.bigInt({ min: -62_167_219_200n, max: lastSecond }),
    fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: secondNs - 1n })),
  )
  .map(([second, fraction]) => second * secondNs + fraction)
const two = (value: number) => String(value).padStart(2, '0')

test('every instant of the years 0 to 9999 is written, and read back to the nanosecond', () => {
  fc.assert(
    fc.property(anInstant, (instant) => {
      const text = formatInstant(instant)

      expect(text).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,8}[1-9])?Z$/)
      expect(timeNanoseconds(text)).toBe(instant)
      expect(parseTime(text)).toEqual({ time: text })
    }),
    { numRuns: 2000 },
  )
})

test('local time, offset and digits of any number mean the instant they say, digits beyond the ninth cut', () => {
  const offsets = fc.tuple(
    fc.constantFrom('+', '-'),
    fc.integer({ min: 0, max: 23 }),
    fc.integer({ min: 0, max: 59 }),
  )
  const digits = fc
    .array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 14 })
    .map((all) => all.join(''))
  const seconds = fc.bigInt({ min: firstSecond + 86_400n, max: lastSecond })
  fc.assert(
    fc.property(seconds, digits, offsets, (second, fraction, [sign, hours, minutes]) => {
      const local = new Date(Number(second) * 1000).toISOString().slice(0, 19)
      const shift = BigInt((hours * 60 + minutes) * 60) * (sign === '+' ? 1n : -1n)
      const expected = (second - shift) * secondNs + BigInt(fraction.slice(0, 9).padEnd(9, '0'))

      const parsed = parseTime(`${local}.${fraction}${sign}${two(hours)}:${two(minutes)}`)

      expect(parsed).toHaveProperty('time')
      const time = 'time' in parsed ? parsed.time : ''
      expect(timeNanoseconds(time)).toBe(expected)
      const inYears = expected >= -62_167_219_200n * secondNs && expected < (lastSecond + 1n) * secondNs
      expect(hasFourDigitYear(time)).toBe(inYears)
    }),
    { numRuns: 2000 },
  )
})

test('whole seconds mean the same as number and as text', () => {
  fc.assert(
    fc.property(fc.integer({ min: -200_000_000_000, max: 400_000_000_000 }), (second) => {
      const parsed = parseTime(second)

      expect(parseTime(String(second))).toEqual(parsed)
      expect('time' in parsed && timeNanoseconds(parsed.time)).toBe(BigInt(second) * secondNs)
    }),
  )
})

// few moments, so that bounds meet each other and the present
const moment = fc.bigInt({ min: 0n, max: 12n })
const windows = fc.array(
  fc
    .record({ start: moment, length: fc.option(fc.bigInt({ min: 2n, max: 6n }), { nil: undefined }) })
    .map(({ start, length }) => ({ start, end: length === undefined ? undefined : start + length })),
  { maxLength: 6 },
)

test('nothing changes before the next change, and something does right after it', () => {
  const last = 20n
  fc.assert(
    fc.property(windows, moment, (all, now) => {
      const active = (at: bigint) => all.map((window) => isActive(window, at))

      const next = nextChange(all, now)

      for (let at = now; at < (next ?? last); at += 1n) expect(active(at)).toEqual(active(now))
      if (next !== undefined) expect(active(next + 1n)).not.toEqual(active(now))
    }),
    { numRuns: 3000 },
  )
})

test('a message shows within its window and at neither of its ends', () => {
  fc.assert(
    fc.property(
      anInstant,
      fc.bigInt({ min: 1n, max: 1n << 60n }),
      fc.bigInt({ min: 1n, max: 1n << 60n }),
      (start, before, after) => {
        const end = start + before + after

        expect(isActive({ start, end }, start + before)).toBe(true)
        expect(isActive({ start, end: undefined }, start + before)).toBe(true)
        for (const at of [start - after, start, end, end + before])
          expect(isActive({ start, end }, at)).toBe(false)
      },
    ),
  )
})
