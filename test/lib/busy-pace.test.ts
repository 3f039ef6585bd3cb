import { expect, test } from 'vitest'
import { busyPace, restMs } from '../../src/lib/busy-pace.ts'

const rest = { timesWork: 6, longestMs: 500 }

test.each([
  { loop: 'idle', utilization: 0, workMs: 30, expected: 0 },
  { loop: 'hardly used', utilization: 0.3, workMs: 30, expected: 0 },
  { loop: 'half used', utilization: 0.5, workMs: 30, expected: 90 },
  { loop: 'busy', utilization: 0.7, workMs: 30, expected: 180 },
  { loop: 'busy all the time', utilization: 1, workMs: 30, expected: 180 },
  { loop: 'busy, and the work is slow', utilization: 1, workMs: 1_000, expected: 500 },
])('after work of $workMs ms while the event loop is $loop, a thread rests $expected ms', (one) => {
  expect(restMs(rest, one.workMs, one.utilization)).toBeCloseTo(one.expected, 6)
})

test('the pace measures the event loop during the work', async () => {
  const ended = busyPace({ timesWork: 2, longestMs: 5 })()
  // the loop does nothing else in this turn
  for (const end = performance.now() + 10; performance.now() < end; );

  expect(ended()).toBe(5)
})
