import { expect, test } from 'vitest'
import { timeZone } from '../../src/lib/system/time-zone.ts'
import { parseCron } from '../../src/lib/text/cron.ts'
import { lastStart, nextStart, type ZonedSchedule } from '../../src/lib/text/zoned-schedule.ts'

function scheduleOf(cron: string, zone: string): ZonedSchedule {
  const parsed = parseCron(cron)
  const offsetAt = timeZone(zone)
  if ('error' in parsed || offsetAt === undefined) throw new Error(`${cron} ${zone}`)
  return { cron: parsed, offsetAt }
}

const textOf = (time: number) => `${new Date(time).toISOString().slice(0, 16)}Z`

/** The first starts after a time. */
function startsOf(cron: string, zone: string, after: string, most: number): string[] {
  const schedule = scheduleOf(cron, zone)
  const starts: string[] = []
  let time: number | undefined = Date.parse(after)
  while (starts.length < most) {
    time = nextStart(schedule, time)
    if (time === undefined) break
    starts.push(textOf(time))
  }
  return starts
}

test.each([
  {
    row: 'a start in a missing hour is when the clocks are put forward',
    cron: '30 2 * * *',
    zone: 'Europe/Berlin',
    after: '2026-03-28T00:00Z',
    starts: ['2026-03-28T01:30Z', '2026-03-29T01:00Z', '2026-03-30T00:30Z'],
  },
  {
    row: 'a start in a doubled hour is in the first one',
    cron: '30 2 * * *',
    zone: 'Europe/Berlin',
    after: '2026-10-24T12:00Z',
    starts: ['2026-10-25T00:30Z', '2026-10-26T01:30Z'],
  },
  {
    row: 'a time in the second of two doubled hours is behind its starts',
    cron: '*/20 2 * * *',
    zone: 'Europe/Berlin',
    after: '2026-10-25T01:10Z',
    starts: ['2026-10-26T01:00Z'],
  },
  {
    row: 'a schedule for every hour has both doubled hours',
    cron: '0 * * * *',
    zone: 'Europe/Berlin',
    after: '2026-10-24T23:30Z',
    starts: ['2026-10-25T00:00Z', '2026-10-25T01:00Z', '2026-10-25T02:00Z', '2026-10-25T03:00Z'],
  },
  {
    row: 'a schedule for every hour skips the missing one',
    cron: '30 */1 * * *',
    zone: 'Europe/Berlin',
    after: '2026-03-29T00:00Z',
    starts: ['2026-03-29T00:30Z', '2026-03-29T01:30Z', '2026-03-29T02:30Z'],
  },
  {
    row: 'midnight may be missing',
    cron: '0 0 * * *',
    zone: 'America/Sao_Paulo',
    after: '2018-11-03T12:00Z',
    starts: ['2018-11-04T03:00Z', '2018-11-05T02:00Z'],
  },
  {
    row: 'an hour before midnight may be doubled',
    cron: '30 * 17 2 *',
    zone: 'America/Sao_Paulo',
    after: '2018-02-18T01:00Z',
    starts: ['2018-02-18T01:30Z', '2018-02-18T02:30Z', '2019-02-17T03:30Z'],
  },
  {
    row: 'half an hour may be missing',
    cron: '15 2 * * *',
    zone: 'Australia/Lord_Howe',
    after: '2026-10-03T00:00Z',
    starts: ['2026-10-03T15:30Z', '2026-10-04T15:15Z'],
  },
  {
    row: 'a whole day may be missing',
    cron: '0 12 30 12 *',
    zone: 'Pacific/Apia',
    after: '2011-12-29T00:00Z',
    starts: ['2011-12-30T10:00Z', '2012-12-29T22:00Z'],
  },
  {
    row: 'a fixed offset has no changes',
    cron: '30 2 * * *',
    zone: '+01:00',
    after: '2026-03-28T12:00Z',
    starts: ['2026-03-29T01:30Z'],
  },
  {
    row: 'years may pass',
    cron: '0 0 29 2 *',
    zone: 'America/New_York',
    after: '2026-01-01T00:00Z',
    starts: ['2028-02-29T05:00Z', '2032-02-29T05:00Z'],
  },
])('$row', ({ cron, zone, after, starts }) => {
  expect(startsOf(cron, zone, after, starts.length)).toEqual(starts)
})

test.each(['America/New_York', 'Europe/Berlin', 'Australia/Lord_Howe', 'Africa/Casablanca', 'America/Nuuk'])(
  'in %s, each start of two years shows the minute of its schedule, or is at a change of the clocks',
  (zone) => {
    const schedule = scheduleOf('30 0,1,2,3,23 * * *', zone)
    const odd: string[] = []
    let count = 0
    let time = nextStart(schedule, Date.parse('2025-01-01T00:00Z')) ?? 0
    while (time < Date.parse('2027-01-01T00:00Z')) {
      const shown = new Date(time + schedule.offsetAt(time)).toISOString()
      const isChange = schedule.offsetAt(time) !== schedule.offsetAt(time - 1)
      if (!/T(?:00|01|02|03|23):30/.test(shown) && !isChange) odd.push(shown)
      count += 1
      time = nextStart(schedule, time) ?? Number.POSITIVE_INFINITY
    }

    expect(odd).toEqual([])
    expect(count).toBeGreaterThan(730 * 5 - 10)
    expect(count).toBeLessThan(730 * 5 + 10)
  },
)

test.each([
  { row: 'before the first', now: '2026-06-01T01:59Z', start: undefined },
  { row: 'at the start', now: '2026-06-01T02:00Z', start: '2026-06-01T02:00Z' },
  { row: 'inside', now: '2026-06-01T03:59Z', start: '2026-06-01T02:00Z' },
  { row: 'at the end', now: '2026-06-01T04:00Z', start: undefined },
])('the last start within two hours, $row', ({ now, start }) => {
  const found = lastStart(scheduleOf('0 2 * * *', 'UTC'), Date.parse(now), 7_200_000)

  expect(found === undefined ? undefined : textOf(found)).toBe(start)
})

test('of starts each minute, the last one counts', () => {
  const now = Date.parse('2026-06-01T02:00:59Z')

  expect(lastStart(scheduleOf('* * * * *', 'Europe/Berlin'), now, 7 * 86_400_000)).toBe(
    Date.parse('2026-06-01T02:00Z'),
  )
})

test.each(['Mars/Olympus', '', 'x'.repeat(5000), '+99:00'])('%s is no time zone', (name) => {
  expect(timeZone(name)).toBeUndefined()
})
