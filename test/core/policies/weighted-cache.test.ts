import { expect, test } from 'vitest'
import { WeightedCache } from '../../../src/core/policies/weighted-cache.ts'

const entry = (value: string, weight = 1) => ({ value, weight })

test('the oldest entries go when the weight is reached', () => {
  const cache = new WeightedCache<string>(3)
  for (const key of ['a', 'b', 'c', 'd']) cache.set(key, entry(key))

  expect(['a', 'b', 'c', 'd'].map((key) => cache.get(key))).toEqual([undefined, 'b', 'c', 'd'])
})

test('an entry written again counts once, and is the newest', () => {
  const cache = new WeightedCache<string>(3)
  cache.set('a', entry('a'))
  cache.set('b', entry('b'))
  cache.set('a', entry('a2', 2))
  cache.set('c', entry('c'))

  expect(['a', 'b', 'c'].map((key) => cache.get(key))).toEqual(['a2', undefined, 'c'])
})

test('an entry too heavy for the cache is not kept and evicts no other', () => {
  const cache = new WeightedCache<string>(3)
  cache.set('a', entry('a'))
  cache.set('b', entry('b', 4))

  expect(cache.get('b')).toBeUndefined()
  expect(cache.get('a')).toBe('a')
})

test('clear removes everything, weight included', () => {
  const cache = new WeightedCache<string>(1)
  cache.set('a', entry('a'))
  cache.clear()
  cache.set('b', entry('b'))

  expect(cache.get('a')).toBeUndefined()
  expect(cache.get('b')).toBe('b')
})
