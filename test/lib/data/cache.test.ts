import { expect, test } from 'vitest'
import { Cache } from '../../../src/lib/data/cache.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const load = (value: object | undefined) => async () => value

test('used copies stay, unused ones are evicted, and the limit is never exceeded', () => {
  const cache = new Cache<{ n: number }>({ name: 'test', most: 10 })
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
  const cache = new Cache<object>({ name: 'test', most: 4 })
  cache.set('a', {})
  cache.set('b', {})
  cache.set('c', {})

  for (const key of ['a', 'b', 'c']) cache.drop(key)

  expect(['a', 'b', 'c'].map((key) => cache.get(key))).toEqual([undefined, undefined, undefined])
})

test('a read caches what it finds, and does not read again', async () => {
  const cache = new Cache<object>({ name: 'test', most: 4 })
  const found = { a: 1 }

  expect(await cache.read('a', load(found))).toBe(found)
  expect(await cache.read('a', load(undefined))).toBe(found)
})

test('a read that a change overtakes caches nothing', async () => {
  const cache = new Cache<object>({ name: 'test', most: 2 })
  const old = { version: 1 }

  const answer = await cache.read('a', async () => {
    cache.drop('a')
    return old
  })

  expect(answer).toBe(old)
  expect(cache.get('a')).toBeUndefined()
})

test('concurrent callers share one load, and load again after a failure', async () => {
  const cache = new Cache<object>({ name: 'test', most: 2 })
  const found = {}
  let loads = 0
  const read = () =>
    cache.readShared('a', async () => {
      loads += 1
      if (loads === 1) throw new Error('disk')
      return found
    })

  const first = await Promise.allSettled(Array.from({ length: 10 }, read))
  const second = await Promise.all(Array.from({ length: 10 }, read))

  expect(first.every(({ status }) => status === 'rejected')).toBe(true)
  expect(second).toEqual(Array(10).fill(found))
  expect(loads).toBe(2)
})

test.each(['drop', 'dropAll', 'dropWhere'] as const)(
  'a shared load that began before %s is not kept, and nobody joins it',
  async (way) => {
    const cache = new Cache<object>({ name: 'test', most: 2 })
    const loads: PromiseWithResolvers<object>[] = []
    const read = () => {
      const load = Promise.withResolvers<object>()
      loads.push(load)
      return cache.readShared('a', () => load.promise)
    }
    const [old, fresh] = [{ version: 1 }, { version: 2 }]

    const before = read()
    const drops = {
      drop: () => cache.drop('a'),
      dropAll: () => cache.dropAll(),
      dropWhere: () => cache.dropWhere(() => false),
    }
    drops[way]()
    const after = read()
    loads[1]?.resolve(fresh)
    loads[0]?.resolve(old)

    expect(await before).toBe(old)
    expect(await after).toBe(fresh)
    expect(cache.get('a')).toBe(fresh)
  },
)

test('a copy from before a change is not kept after it', () => {
  const cache = new Cache<object>({ name: 'test', most: 2 })
  const { drops } = cache
  cache.drop('b')

  cache.set('a', {}, drops)

  expect(cache.get('a')).toBeUndefined()
})

test('a record that must not be cached is read each time', async () => {
  const cache = new Cache<{ n: number }>({ name: 'test', most: 2 })

  await cache.read(
    'a',
    async () => ({ n: 1 }),
    ({ n }) => n > 1,
  )

  expect(cache.get('a')).toBeUndefined()
})

test('a value that was not used gives way to others, by weight, and the limit is never exceeded', () => {
  const cache = new Cache<string>({
    name: 'test',
    most: 1_000,
    mostWeight: 100,
    weigh: (text) => text.length,
  })
  cache.set('used', 'x'.repeat(10))

  for (let n = 1; n <= 100; n += 1) {
    cache.set(`other-${n}`, 'x'.repeat(10))
    cache.get('used')
  }

  expect(cache.get('used')).toBeDefined()
  const others = Array.from({ length: 100 }, (_, at) => cache.get(`other-${at + 1}`)).filter(
    (copy) => copy !== undefined,
  )
  expect(others.length).toBeLessThan(10)
  expect(others.length).toBeGreaterThan(0)
})

test('a value that is set again and again counts once', () => {
  const cache = new Cache<string>({ name: 'test', most: 10, mostWeight: 100, weigh: () => 20 })
  cache.set('other', '')

  for (let n = 0; n < 10; n += 1) cache.set('same', String(n))

  expect(cache.get('other')).toBe('')
  expect(cache.get('same')).toBe('9')
})

test.each([
  { record: { name: 'x'.repeat(95) }, kept: true },
  { record: { name: 'x'.repeat(96) }, kept: false },
  { record: { at: 1, meta: { ['k'.repeat(50)]: 'v'.repeat(50) } }, kept: false },
  { record: { list: ['x'.repeat(60), 'y'.repeat(60)] }, kept: false },
  { record: { list: [], meta: null, at: 5 }, kept: true },
])('a value with more text than half of all is not kept: row %#', async ({ record, kept }) => {
  const cache = new Cache<object>({ name: 'test', most: 10, mostWeight: 200 })

  cache.set('k', record)
  expect(cache.get('k')).toBe(kept ? record : undefined)
  expect(await cache.read('l', load(record))).toBe(record)
  expect(cache.get('l')).toBe(kept ? record : undefined)
})

test('a key counts as text', () => {
  const cache = new Cache<object>({ name: 'test', most: 10, mostWeight: 200 })

  cache.set('k'.repeat(101), {})

  expect(cache.has('k'.repeat(101))).toBe(false)
})

test('a value that has become too heavy replaces the one before, and is gone too', () => {
  const cache = new Cache<string>({ name: 'test', most: 10, mostWeight: 10 })
  cache.set('k', 'abc')

  cache.set('k', 'abcdef')

  expect(cache.get('k')).toBeUndefined()
})

test('a value ends with its time, and when the clock is set back', () => {
  const clock = new FakeClock()
  const cache = new Cache<string>({ name: 'test', most: 10, ttl: { ms: 1_000, clock } })
  cache.set('k', 'v')

  clock.advance(0.999)
  expect(cache.get('k')).toBe('v')
  clock.advance(0.001)
  expect(cache.get('k')).toBeUndefined()
  clock.advance(-5)
  expect(cache.get('k')).toBeUndefined()
})
