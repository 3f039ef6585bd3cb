import { expect, test } from 'vitest'
import { SharedLock } from '../../../src/lib/concurrency/shared-lock.ts'

/** Work that says when it begins and ends when it is told to. */
function works(lock: SharedLock) {
  const begun: string[] = []
  const ends = new Map<string, PromiseWithResolvers<string>>()
  const work = (name: string) => {
    const end = Promise.withResolvers<string>()
    ends.set(name, end)
    return () => {
      begun.push(name)
      return end.promise
    }
  }
  return {
    begun,
    shared: (name: string) => lock.runShared(work(name)),
    alone: (name: string) => lock.runAlone(work(name)),
    async finish(name: string, failure?: Error) {
      if (failure === undefined) ends.get(name)?.resolve(name)
      else ends.get(name)?.reject(failure)
      for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
    },
  }
}

test('shared work runs together, other work alone, in order of arrival', async () => {
  const { begun, shared, alone, finish } = works(new SharedLock())

  const all = [shared('a'), shared('b'), alone('c'), shared('d'), shared('e'), alone('f'), alone('g')]
  expect(begun).toEqual(['a', 'b'])
  await finish('b')
  expect(begun).toEqual(['a', 'b'])
  await finish('a')
  expect(begun).toEqual(['a', 'b', 'c'])
  await finish('c')
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'e'])
  await finish('e')
  await finish('d')
  expect(begun.at(-1)).toBe('f')
  await finish('f')
  expect(begun.at(-1)).toBe('g')
  await finish('g')

  expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g'])
})

test('work that fails holds up nothing', async () => {
  const { begun, shared, alone, finish } = works(new SharedLock())
  const failed = Promise.allSettled([shared('a'), alone('b')])
  const last = [shared('c'), alone('d')]

  await finish('a', new Error('a failed'))
  await finish('b', new Error('b failed'))
  expect(begun).toEqual(['a', 'b', 'c'])
  await finish('c')
  await finish('d')

  expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await Promise.all(last)).toEqual(['c', 'd'])
})
