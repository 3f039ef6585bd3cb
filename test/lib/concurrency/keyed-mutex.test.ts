import { expect, test } from 'vitest'
import { KeyedMutex } from '../../../src/lib/concurrency/keyed-mutex.ts'

test('work on one key runs one after the other, in the order of the requests, also after a failure', async () => {
  const mutex = new KeyedMutex()
  const seen: string[] = []
  const work = (name: string) => async () => {
    seen.push(`${name} begins`)
    await Promise.resolve()
    seen.push(`${name} ends`)
    if (name === 'b') throw new Error('b failed')
    return name
  }

  const all = Promise.allSettled(['a', 'b', 'c'].map((name) => mutex.runExclusive('key', work(name))))

  expect((await all).map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason)))).toEqual([
    'a',
    'Error: b failed',
    'c',
  ])
  expect(seen).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
  expect(mutex.pending('key')).toBeUndefined()
})

test('work on another key does not wait', async () => {
  const mutex = new KeyedMutex()
  const held = Promise.withResolvers<void>()
  const first = mutex.runExclusive('one', () => held.promise)

  expect(await mutex.runExclusive('other', async () => 'done')).toBe('done')
  expect(mutex.pending('one')).toBeDefined()
  held.resolve()
  await first
})

test('work within bounds is refused if too many wait or its turn comes too late, and never runs', async () => {
  const mutex = new KeyedMutex()
  const held = Promise.withResolvers<void>()
  const seen: string[] = []
  const run = (name: string, bounds: { most?: number; ms?: number }) =>
    mutex.runWithin({ ...bounds, refusal: () => new Error(`${name} refused`) }, 'key', async () => {
      seen.push(name)
      await held.promise
    })

  const first = run('first', {})
  const late = run('late', { ms: 1 })
  const second = run('second', { most: 2, ms: 1_000_000 })

  await expect(run('third', { most: 2 })).rejects.toThrow('third refused')
  await expect(late).rejects.toThrow('late refused')
  const fourth = run('fourth', { most: 2 })
  expect(seen).toEqual(['first'])
  held.resolve()
  await Promise.all([first, second, fourth])
  expect(seen).toEqual(['first', 'second', 'fourth'])
  expect(mutex.pending('key')).toBeUndefined()
})
