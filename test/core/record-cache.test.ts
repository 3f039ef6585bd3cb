import { expect, test } from 'vitest'
import { RecordCache } from '../../src/core/record-cache.ts'

const load = (value: object | undefined) => async () => value

test('used copies stay, unused ones are evicted, and the limit is never exceeded', () => {
  const cache = new RecordCache<{ n: number }>(10)
  cache.set('used', { n: 0 })

  for (let n = 1; n <= 100; n += 1) {
    cache.set(`other-${n}`, { n })
    cache.get('used')
  }

  expect(cache.get('used')).toEqual({ n: 0 })
  const others = Array.from({ length: 100 }, (_, at) => cache.get(`other-${at + 1}`)).filter(
    (copy) => copy !== undefined,
  )
  expect(others.length).toBeLessThan(10)
  expect(others.length).toBeGreaterThan(0)
})

test('a dropped copy is gone, however old it is', () => {
  const cache = new RecordCache<object>(4)
  cache.set('a', {})
  cache.set('b', {})
  cache.set('c', {})

  for (const key of ['a', 'b', 'c']) cache.drop(key)

  expect(['a', 'b', 'c'].map((key) => cache.get(key))).toEqual([undefined, undefined, undefined])
})

test('a read caches what it finds, and does not read again', async () => {
  const cache = new RecordCache<object>(4)
  const found = { a: 1 }

  expect(await cache.read('a', load(found))).toBe(found)
  expect(await cache.read('a', load(undefined))).toBe(found)
})

test('a read that a change overtakes caches nothing', async () => {
  const cache = new RecordCache<object>(2)
  const old = { version: 1 }

  const answer = await cache.read('a', async () => {
    cache.drop('a')
    return old
  })

  expect(answer).toBe(old)
  expect(cache.get('a')).toBeUndefined()
})

test('a copy from before a change is not kept after it', () => {
  const cache = new RecordCache<object>(2)
  const { drops } = cache
  cache.drop('b')

  cache.set('a', {}, drops)

  expect(cache.get('a')).toBeUndefined()
})

test('a record that must not be cached is read each time', async () => {
  const cache = new RecordCache<{ n: number }>(2)

  await cache.read(
    'a',
    async () => ({ n: 1 }),
    ({ n }) => n > 1,
  )

  expect(cache.get('a')).toBeUndefined()
})

test.each([
  { record: { name: 'x'.repeat(96) }, kept: true },
  { record: { name: 'x'.repeat(97) }, kept: false },
  { record: { at: 1, meta: { ['k'.repeat(50)]: 'v'.repeat(50) } }, kept: false },
  { record: { list: ['x'.repeat(60), 'y'.repeat(60)] }, kept: false },
  { record: { list: [], meta: null, at: 5 }, kept: true },
])('a record with more text than its limit is not cached: row %#', async ({ record, kept }) => {
  const cache = new RecordCache<object>(10, 101)

  cache.set('k', record)
  expect(cache.get('k')).toBe(kept ? record : undefined)
  expect(await cache.read('l', load(record))).toBe(record)
  expect(cache.get('l')).toBe(kept ? record : undefined)
})

test('a key counts as text', () => {
  const cache = new RecordCache<object>(10, 100)

  cache.set('k'.repeat(101), {})

  expect(cache.get('k'.repeat(101))).toBeUndefined()
})
