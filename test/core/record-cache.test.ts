import { expect, test } from 'vitest'
import { RecordCache } from '../../src/core/record-cache.ts'

const load = (value: object | undefined) => async () => value

test('what was used last stays, what was not goes first', () => {
  const cache = new RecordCache<{ n: number }>(2)
  cache.set('a', { n: 1 })
  cache.set('b', { n: 2 })
  cache.get('a')

  cache.set('c', { n: 3 })

  expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([{ n: 1 }, undefined, { n: 3 }])
})

test('a read keeps what it finds, and does not read again', async () => {
  const cache = new RecordCache<object>(2)
  const found = { a: 1 }

  expect(await cache.read('a', load(found))).toBe(found)
  expect(await cache.read('a', load(undefined))).toBe(found)
})

test('a read that was overtaken by a change keeps nothing', async () => {
  const cache = new RecordCache<object>(2)
  const old = { version: 1 }

  const answer = await cache.read('a', async () => {
    cache.drop('a')
    return old
  })

  expect(answer).toBe(old)
  expect(cache.get('a')).toBeUndefined()
})

test('a copy made before a change is not kept after it', () => {
  const cache = new RecordCache<object>(2)
  const { drops } = cache
  cache.drop('b')

  cache.set('a', {}, drops)

  expect(cache.get('a')).toBeUndefined()
})

test('what is not to be kept is read each time', async () => {
  const cache = new RecordCache<{ n: number }>(2)

  await cache.read(
    'a',
    async () => ({ n: 1 }),
    ({ n }) => n > 1,
  )

  expect(cache.get('a')).toBeUndefined()
})
