import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Limiter } from '../../../src/lib/concurrency/limiter.ts'

const refusal = () => new Error('refused')

/** Work that records its start and ends on demand. */
function aSchedule(limiter: Limiter) {
  const started: string[] = []
  const finish = new Map<string, () => void>()
  const enter = (name: string) =>
    limiter.run(() => {
      started.push(name)
      return new Promise<string>((resolve) => finish.set(name, () => resolve(name)))
    })
  return { started, enter, finish: (name: string) => finish.get(name)?.() }
}

test('work beyond the capacity waits in order of arrival', async () => {
  const { started, enter, finish } = aSchedule(new Limiter(2))
  const all = Promise.all(['a', 'b', 'c', 'd'].map((name) => enter(name)))
  await nextTurn()
  expect(started).toEqual(['a', 'b'])

  finish('b')
  await nextTurn()
  expect(started).toEqual(['a', 'b', 'c'])

  finish('a')
  await nextTurn()
  expect(started).toEqual(['a', 'b', 'c', 'd'])

  finish('c')
  finish('d')
  expect(await all).toEqual(['a', 'b', 'c', 'd'])
})

test('failed work frees its capacity', async () => {
  const limiter = new Limiter(1)

  await expect(limiter.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
  await expect(limiter.run(async () => 'in')).resolves.toBe('in')
})

test('five thousand callers never exceed the capacity', async () => {
  const limiter = new Limiter(8)
  let [running, most] = [0, 0]
  const work = async () => {
    running += 1
    most = Math.max(most, running)
    await Promise.resolve()
    running -= 1
  }

  await Promise.all(Array.from({ length: 5000 }, () => limiter.run(work)))

  expect(most).toBe(8)
})

test('a caller is refused when the most callers wait', async () => {
  const limiter = new Limiter(1, { most: 1, refusal })
  const leave = await limiter.enter()
  const waiting = limiter.enter()

  await expect(limiter.enter()).rejects.toThrow('refused')

  leave()
  const leaveToo = await waiting
  leaveToo()
  await expect(limiter.run(async () => 'in')).resolves.toBe('in')
})

test('a caller is refused when its time is up, and the next one takes its turn', async () => {
  const limiter = new Limiter(1, { ms: 1, refusal })
  const leave = await limiter.enter()

  await expect(limiter.enter()).rejects.toThrow('refused')

  leave()
  await expect(limiter.run(async () => 'in')).resolves.toBe('in')
})

test('a greater capacity admits waiting work, and a smaller one lets running work finish', async () => {
  const limiter = new Limiter(1)
  const { started, enter, finish } = aSchedule(limiter)
  const all = Promise.all(['a', 'b', 'c', 'd'].map((name) => enter(name)))
  await nextTurn()
  expect(started).toEqual(['a'])

  limiter.capacity = 3
  await nextTurn()
  expect(started).toEqual(['a', 'b', 'c'])

  limiter.capacity = 2
  finish('a')
  await nextTurn()
  expect(started).toEqual(['a', 'b', 'c'])
  finish('b')
  await nextTurn()
  expect(started).toEqual(['a', 'b', 'c', 'd'])

  finish('c')
  finish('d')
  await all
})
