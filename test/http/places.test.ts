import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Places } from '../../src/http/exchange/places.ts'

const long = 60_000
const stays = () => {}

/** Takes a place for each client, and records the order in which those who wait get one. */
function takeAll(places: Places, clients: readonly string[]) {
  const served: string[] = []
  const refused: string[] = []
  for (const client of clients)
    places.take(client, stays)?.then(
      () => served.push(client),
      (error: Error) => refused.push(error.message),
    )
  return { served, refused }
}

test('addresses take turns at the places that become free', async () => {
  const places = new Places({ most: 1, waitMs: long })
  expect(places.take('a', stays)).toBeUndefined()
  const { served } = takeAll(places, ['a', 'a', 'a', 'b'])

  for (let given = 0; given < 5; given += 1) {
    places.give()
    await nextTurn()
  }

  expect(served).toEqual(['a', 'b', 'a', 'a'])
  expect(places.taken).toBe(0)
})

test('a request that gets no place in time is refused, and takes none later', async () => {
  const places = new Places({ most: 1, waitMs: 1 })
  places.retake()

  await expect(places.take('a', stays)).rejects.toThrow('server is overloaded')

  places.give()
  expect(places.taken).toBe(0)
})

test('a request whose client has left gives up its turn', async () => {
  const places = new Places({ most: 1, waitMs: long })
  places.retake()
  let leave = stays
  const left = places.take('a', (listener) => {
    leave = listener
  })
  const { served } = takeAll(places, ['a'])

  leave()
  await expect(left).rejects.toThrow('server is overloaded')
  places.give()
  await nextTurn()

  expect(served).toEqual(['a'])
  places.give()
})

test('a request that returns from a wait of its own takes a place beyond the limit', async () => {
  const places = new Places({ most: 1, waitMs: long })
  places.retake()
  places.retake()
  const { served } = takeAll(places, ['b'])

  places.give()
  await nextTurn()
  expect(served).toEqual([])
  places.give()
  await nextTurn()
  expect(served).toEqual(['b'])
  places.give()
})

test('of many requests whose time is over, few are refused at once', async () => {
  const places = new Places({ most: 1, waitMs: 1 })
  places.retake()
  const first = places.take('a', stays)
  const { refused } = takeAll(
    places,
    Array.from({ length: 100 }, () => 'a'),
  )

  await first?.catch(() => {})
  await nextTurn()

  expect(refused.length).toBeLessThan(20)
  await expect.poll(() => refused.length).toBe(100)
})
