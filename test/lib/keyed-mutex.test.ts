import { expect, test } from 'vitest'
import { KeyedMutex } from '../../src/lib/keyed-mutex.ts'

test('work on one key runs one after the other, in the order of the requests, also after a failure', async () => {
  const turns = new KeyedMutex()
  const seen: string[] = []
  const work = (name: string) => async () => {
    seen.push(`${name} begins`)
    await Promise.resolve()
    seen.push(`${name} ends`)
    if (name === 'b') throw new Error('b failed')
    return name
  }

  const all = Promise.allSettled(['a', 'b', 'c'].map((name) => turns.take('key', work(name))))

  expect((await all).map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason)))).toEqual([
    'a',
    'Error: b failed',
    'c',
  ])
  expect(seen).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
  expect(turns.workOn('key')).toBeUndefined()
})

test('work on another key does not wait', async () => {
  const turns = new KeyedMutex()
  const held = Promise.withResolvers<void>()
  const first = turns.take('one', () => held.promise)

  expect(await turns.take('other', async () => 'done')).toBe('done')
  expect(turns.workOn('one')).toBeDefined()
  held.resolve()
  await first
})
