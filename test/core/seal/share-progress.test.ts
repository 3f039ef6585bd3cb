import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ShareProgress } from '../../../src/core/seal/share-progress.ts'
import { splitKey } from '../../../src/core/seal/shares.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const zeros = Buffer.alloc(33)
const aProgress = (clock = new FakeClock(), onExpired = () => {}) =>
  new ShareProgress({ clock, random: systemRandom, onExpired })

const threeShares = async () => {
  const key = randomBytes(32)
  const [a = zeros, b = zeros, c = zeros] = await splitKey(key, { shares: 3, threshold: 3 })
  return { key, a, b, c }
}

// only the timer: the clock is the test's own
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

test('collects distinct shares and rebuilds their key', async () => {
  using progress = aProgress()
  const { key, a, b, c } = await threeShares()
  progress.begin()

  const added = [a, b, Buffer.from(a), c].map((share) => progress.add(share))

  expect(added).toEqual([true, true, false, true])
  expect(progress.count).toBe(3)
  expect(await progress.combine()).toEqual(key)
  expect(progress.count).toBe(0)
})

test('each beginning has a nonce of its own; discarding it leaves none', () => {
  using progress = aProgress()
  const before = progress.nonce
  progress.begin()
  const first = progress.nonce
  progress.begin()

  expect(before).toBe('')
  expect(first).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  expect(progress.nonce).not.toBe(first)
  progress.discard()
  expect(progress.nonce).toBe('')
})

test.each([
  ['combining', (progress: ShareProgress) => progress.combine()],
  ['discarding', (progress: ShareProgress) => progress.discard()],
  ['beginning again', (progress: ShareProgress) => progress.begin()],
  ['disposing', (progress: ShareProgress) => progress[Symbol.dispose]()],
])('%s fills the shares with zeros', async (_, end) => {
  using progress = aProgress()
  const { a, b } = await threeShares()
  progress.begin()
  progress.add(a)
  progress.add(b)

  await end(progress)

  expect([a, b]).toEqual([zeros, zeros])
})

test('a repeated share is filled with zeros at once', async () => {
  using progress = aProgress()
  const { a } = await threeShares()
  const again = Buffer.from(a)
  progress.begin()
  progress.add(a)

  progress.add(again)

  expect(again).toEqual(zeros)
  expect(a).not.toEqual(zeros)
})

test('ten minutes without another share discard all, even if nobody looks', async () => {
  const clock = new FakeClock()
  const onExpired = vi.fn()
  using progress = aProgress(clock, onExpired)
  const { a, b } = await threeShares()
  progress.begin()
  progress.add(a)
  clock.advance(599)
  progress.add(b)
  clock.advance(599)
  const { count } = progress
  const held = Buffer.from(a)

  clock.advance(1)
  vi.runOnlyPendingTimers()

  expect(count).toBe(2)
  expect(held).not.toEqual(zeros)
  expect([a, b]).toEqual([zeros, zeros])
  expect(progress.nonce).toBe('')
  expect(onExpired).toHaveBeenCalledTimes(1)
})

test('a clock that was set back does not shorten the time', async () => {
  const clock = new FakeClock()
  using progress = aProgress(clock)
  const { a } = await threeShares()
  progress.begin()
  progress.add(a)

  clock.advance(-10_000_000)
  vi.runOnlyPendingTimers()

  expect(progress.count).toBe(1)
})
