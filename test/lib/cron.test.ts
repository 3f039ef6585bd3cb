import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { nextTime, parseCron } from '../../src/lib/text/cron.ts'

const next = (text: string, after: string): string | undefined => {
  const schedule = parseCron(text)
  if ('error' in schedule) throw new Error(schedule.error)
  const time = nextTime(schedule, Date.parse(after))
  return time === undefined ? undefined : new Date(time).toISOString().replace(':00.000Z', 'Z')
}

test.each([
  ['* * * * *', '2026-05-05T06:07:08Z', '2026-05-05T06:08Z'],
  ['* * * * *', '2026-05-05T06:07:00Z', '2026-05-05T06:08Z'],
  ['*/15 * * * *', '2026-05-05T06:45:00Z', '2026-05-05T07:00Z'],
  ['5-59/20 * * * *', '2026-05-05T06:05:00Z', '2026-05-05T06:25Z'],
  ['50/4 * * * *', '2026-05-05T06:50:00Z', '2026-05-05T06:54Z'],
  ['0 0 * * *', '2026-12-31T00:00:00Z', '2027-01-01T00:00Z'],
  ['30 4 1,15 * *', '2026-05-05T00:00:00Z', '2026-05-15T04:30Z'],
  ['0 3 * * sun', '2026-05-05T00:00:00Z', '2026-05-10T03:00Z'],
  ['0 3 * * MON-fri', '2026-05-08T04:00:00Z', '2026-05-11T03:00Z'],
  ['0 0 29 2 *', '2026-05-05T00:00:00Z', '2028-02-29T00:00Z'],
  ['0 0 29 2 *', '2096-03-01T00:00:00Z', '2104-02-29T00:00Z'],
  ['0 0 19 2 */7', '1970-01-01T00:00:00Z', '1978-02-19T00:00Z'],
  ['0 0 29 2 */7', '1880-03-01T00:00:00Z', '1920-02-29T00:00Z'],
  ['0 0 13 * 5', '2026-05-05T00:00:00Z', '2026-05-08T00:00Z'],
  ['0 0 */2 * 5', '2026-05-05T00:00:00Z', '2026-05-15T00:00Z'],
  ['0 0 ? jan,JUL *', '2026-05-05T00:00:00Z', '2026-07-01T00:00Z'],
  ['  0   12  *  *  * ', '2026-05-05T11:00:00Z', '2026-05-05T12:00Z'],
])('the next time of "%s" after %s is %s', (text, after, expected) => {
  expect(next(text, after)).toBe(expected)
})

test.each([
  ['', 'expected exactly 5 fields, found 0'],
  ['* * * *', 'expected exactly 5 fields, found 4'],
  ['* * * * * *', 'expected exactly 5 fields, found 6'],
  ['@daily', 'expected exactly 5 fields, found 1'],
  ['60 * * * *', 'the minute must be between 0 and 59'],
  ['* 24 * * *', 'the hour must be between 0 and 23'],
  ['* * 0 * *', 'the day of month must be between 1 and 31'],
  ['* * * 13 *', 'the month must be between 1 and 12'],
  ['* * * * 7', 'the day of week must be between 0 and 6'],
  ['* * * * xyz', 'the day of week is no number'],
  ['-1 * * * *', 'the minute is no number'],
  ['5-2 * * * *', 'the range of the minute ends before it begins'],
  ['*/0 * * * *', 'the step of the minute must be above 0'],
  ['1-2-3 * * * *', 'too many hyphens in the minute'],
  ['1/2/3 * * * *', 'too many slashes in the minute'],
  ['1,,2 * * * *', 'the minute is no number'],
  ['0 0 30 feb *', 'there is no such day'],
  [`${'0,'.repeat(200)}0 * * * *`, 'a schedule has at most 256 characters'],
])('"%s" is refused: %s', (text, error) => {
  expect(parseCron(text)).toEqual({ error })
})

describe('for any text', () => {
  test('the result is a schedule or an error, never an exception', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('*', '/', '-', ',', '?', ' ', '0', '1', '31', '7', 'jan', 'x', '\t'), {
          maxLength: 30,
        }),
        (parts) => {
          const schedule = parseCron(parts.join(''))
          expect('error' in schedule || schedule.minutes.size > 0).toBe(true)
        },
      ),
    )
  })

  test('the next time is later and matches the schedule', () => {
    const field = (least: number, greatest: number) =>
      fc.oneof(
        fc.constant('*'),
        fc.integer({ min: least, max: greatest }).map(String),
        fc.integer({ min: 1, max: 9 }).map((step) => `*/${step}`),
      )
    fc.assert(
      fc.property(
        field(0, 59),
        field(0, 23),
        field(1, 28),
        field(1, 12),
        field(0, 6),
        fc.integer({ min: 0, max: 4e12 }),
        (m, h, d, mo, w, after) => {
          const schedule = parseCron([m, h, d, mo, w].join(' '))
          if ('error' in schedule) throw new Error(schedule.error)
          const time = nextTime(schedule, after) ?? 0
          const at = new Date(time)
          expect(time).toBeGreaterThan(after)
          expect([
            time % 60_000,
            schedule.minutes.has(at.getUTCMinutes()),
            schedule.hours.has(at.getUTCHours()),
            schedule.months.has(at.getUTCMonth() + 1),
          ]).toEqual([0, true, true, true])
          // there is no time in between: from the minute before, the next time is the same
          expect(nextTime(schedule, time - 1)).toBe(time)
        },
      ),
    )
  })
})
