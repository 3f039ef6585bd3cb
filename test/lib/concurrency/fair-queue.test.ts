import { expect, test } from 'vitest'
import { FairQueue } from '../../../src/lib/concurrency/fair-queue.ts'

const taken = (queue: FairQueue<string>) => {
  const items: string[] = []
  while (!queue.isEmpty) items.push(queue.next() ?? '')
  return items
}

test('clients take queue, and the items of one client keep their order', () => {
  const queue = new FairQueue<string>()
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) queue.add(item.charAt(0), item)

  expect(taken(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3'])
  expect(queue.next()).toBeUndefined()
})

test('a client that comes back waits for those who came before', () => {
  const queue = new FairQueue<string>()
  queue.add('a', 'a1')
  queue.add('b', 'b1')
  expect(queue.next()).toBe('a1')
  queue.add('a', 'a2')

  expect(taken(queue)).toEqual(['b1', 'a2'])
})
