import { expect, test } from 'vitest'
import { Turns } from '../../../src/lib/concurrency/turns.ts'

const taken = (turns: Turns<string>) => {
  const items: string[] = []
  while (!turns.isEmpty) items.push(turns.next() ?? '')
  return items
}

test('clients take turns, and the items of one client keep their order', () => {
  const turns = new Turns<string>()
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) turns.add(item.charAt(0), item)

  expect(taken(turns)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3'])
  expect(turns.next()).toBeUndefined()
})

test('a client that comes back waits for those who came before', () => {
  const turns = new Turns<string>()
  turns.add('a', 'a1')
  turns.add('b', 'b1')
  expect(turns.next()).toBe('a1')
  turns.add('a', 'a2')

  expect(taken(turns)).toEqual(['b1', 'a2'])
})
