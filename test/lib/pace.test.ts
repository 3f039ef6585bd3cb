import { expect, test } from 'vitest'
import { Pace } from '../../src/lib/pace.ts'

const aPace = () => new Pace({ burst: 3, everyMs: 10, longestMs: 40 })
const delays = (pace: Pace, count: number, now: number) =>
  Array.from({ length: count }, () => pace.delayOf(now))

test('a burst goes at once, and the rest one after the other', () => {
  expect(delays(aPace(), 6, 1000)).toEqual([0, 0, 0, 10, 20, 30])
})

test('who comes slowly never waits', () => {
  const pace = aPace()

  expect([0, 10, 20, 30, 40, 50].map((now) => pace.delayOf(now))).toEqual([0, 0, 0, 0, 0, 0])
})

test('after a pause there is a burst again', () => {
  const pace = aPace()
  delays(pace, 5, 0)

  expect(delays(pace, 4, 1000)).toEqual([0, 0, 0, 10])
})

test('nobody waits longer than the longest time', () => {
  expect(Math.max(...delays(aPace(), 1000, 0))).toBeLessThanOrEqual(60)
})
