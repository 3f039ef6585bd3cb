import { expect, test } from 'vitest'
import { PooledRandom, systemRandom } from '../../../src/lib/system/random.ts'

/** A source that fills with 1, then with 2, and so on, so that bytes show when they were fetched. */
function aSource() {
  const at = { wall: 1_000_000, steady: 500 }
  let fills = 0
  const random = new PooledRandom({
    fill: (bytes) => bytes.fill(++fills),
    wallClock: () => at.wall,
    steadyClock: () => at.steady,
  })
  const pass = (ms: number) => {
    at.wall += ms
    at.steady += ms
  }
  return { at, pass, random, next: () => random.bytes(1)[0] }
}

test('prefetched bytes are used for less than a second', () => {
  const { next, pass } = aSource()

  const first = next()
  pass(999)
  const before = next()
  pass(1)

  expect([first, before, next()]).toEqual([1, 1, 2])
})

test.each([
  { name: 'ahead', ms: 60_000 },
  { name: 'back', ms: -60_000 },
  { name: 'a little ahead', ms: 20 },
  { name: 'a little back', ms: -20 },
])('a wall clock that jumps $name discards prefetched bytes', ({ ms }) => {
  const { at, next } = aSource()
  next()

  at.wall += ms

  expect(next()).toBe(2)
})

test('a monotonic clock that goes back, as in a restored snapshot, discards prefetched bytes', () => {
  const { next, pass } = aSource()
  next()

  pass(-1)

  expect(next()).toBe(2)
})

test('a machine that slept discards its old bytes', () => {
  const { at, next } = aSource()
  next()

  at.wall += 3_600_000
  at.steady += 5

  expect(next()).toBe(2)
})

test('discard drops prefetched bytes', () => {
  const { next, random } = aSource()
  next()

  random.discard()

  expect(next()).toBe(2)
})

test('large amounts are not prefetched', () => {
  const { random } = aSource()

  expect([...random.bytes(300)]).toEqual(new Array(300).fill(1))
  expect(random.bytes(1)[0]).toBe(2)
})

test('no byte is returned twice', () => {
  let next = 0
  const fill = (bytes: Uint8Array) => {
    for (let at = 0; at + 4 <= bytes.length; at += 4)
      new DataView(bytes.buffer, bytes.byteOffset).setUint32(at, next++)
  }
  const random = new PooledRandom({ fill, wallClock: () => 0, steadyClock: () => 0 })

  const seen = new Set(Array.from({ length: 10_000 }, () => Buffer.from(random.bytes(12)).toString('hex')))

  expect(seen.size).toBe(10_000)
})

test('a UUID is of version 4', () => {
  const ids = Array.from({ length: 1_000 }, () => systemRandom.uuid())

  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(new Set(ids).size).toBe(1_000)
})

test('bytes of the system have every value and never repeat', () => {
  const large = systemRandom.bytes(65_536)
  const small = Array.from({ length: 2_000 }, () => systemRandom.bytes(32))

  expect(new Set(large).size).toBe(256)
  expect(new Set(small.flatMap((bytes) => [...bytes])).size).toBe(256)
  expect(new Set(small.map((bytes) => Buffer.from(bytes).toString('hex'))).size).toBe(2_000)
})
