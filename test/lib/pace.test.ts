import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Pace } from '../../src/lib/pace.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const aPace = (together = 1) => new Pace({ burst: 3, everyMs: 10, together, longestMs: 40 })

/** How long each of so many waits that come at the same time. */
async function delays(pace: Pace, count: number, now: number): Promise<number[]> {
  const begun = Date.now()
  const all = Array.from({ length: count }, async () => {
    await pace.turn(now)
    return Date.now() - begun
  })
  await vi.runAllTimersAsync()
  return Promise.all(all)
}

test('a burst goes at once, and the rest one after the other', async () => {
  expect(await delays(aPace(), 6, 1000)).toEqual([0, 0, 0, 10, 20, 30])
})

test('who comes slowly never waits', () => {
  const pace = aPace()

  expect([0, 10, 20, 30, 40, 50].map((now) => pace.turn(now))).toEqual(Array(6).fill(undefined))
})

test('after a pause there is a burst again', async () => {
  const pace = aPace()
  await delays(pace, 5, 0)

  expect(await delays(pace, 4, 1000)).toEqual([0, 0, 0, 10])
})

test('those that wait go in groups, which share one turn', async () => {
  const pace = aPace(2)

  expect(await delays(pace, 7, 1000)).toEqual([0, 0, 0, 20, 20, 40, 40])

  const sharing = [1, 2, 3, 4, 5].map(() => pace.turn(1007)).slice(3)
  expect(sharing[0]).toBe(sharing[1])
})

test('nobody waits longer than the longest time', async () => {
  expect(Math.max(...(await delays(aPace(), 1000, 0)))).toBeLessThanOrEqual(60)
})
