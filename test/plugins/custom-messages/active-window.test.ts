import { expect, test } from 'vitest'
import { timeNanoseconds } from '../../../src/lib/text/time.ts'
import { isActive, nextChange } from '../../../src/plugins/custom-messages/active-window.ts'

const at = (text: string) => timeNanoseconds(`2024-${text}Z`)
const start = at('06-01T12:00:00')
const end = at('06-01T13:00:00')

test.each([
  { row: 'at the start', now: start, active: false },
  { row: 'a nanosecond after the start', now: start + 1n, active: true },
  { row: 'a nanosecond before the end', now: end - 1n, active: true },
  { row: 'at the end', now: end, active: false },
  { row: 'both to come', now: start - 1n, active: false },
  { row: 'both over', now: end + 1n, active: false },
])('$row', ({ now, active }) => {
  expect(isActive({ start, end }, now)).toBe(active)
})

test.each([
  { row: 'started', now: start + 1n, active: true },
  { row: 'at the start', now: start, active: false },
  { row: 'to come', now: start - 1n, active: false },
])('without an end, $row', ({ now, active }) => {
  expect(isActive({ start, end: undefined }, now)).toBe(active)
})

const window = (from: bigint, until?: bigint) => ({ start: from, end: until })
test.each([
  { what: 'nothing', windows: [], next: undefined },
  { what: 'all over', windows: [window(start - 9n, start - 1n), window(start - 9n, start)], next: undefined },
  { what: 'one without an end that has started', windows: [window(start - 1n)], next: undefined },
  { what: 'an end to come', windows: [window(start - 1n, end)], next: end },
  {
    what: 'a start before an end',
    windows: [window(start - 1n, end), window(start + 5n, end)],
    next: start + 5n,
  },
  { what: 'a start that is now', windows: [window(start, end)], next: start },
])('$what', ({ windows, next }) => {
  expect(nextChange(windows, start)).toBe(next)
})
