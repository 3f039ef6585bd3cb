import { expect, test } from 'vitest'
import { type Barrier, rootKeyKey } from '../../../src/core/barrier/barrier.ts'
import { keyringKey } from '../../../src/core/barrier/keyring.ts'
import { termOf } from '../../../src/core/barrier/sealed-value.ts'
import { aBarrierHouse, type BarrierHouse } from './barrier-house.ts'

const daySeconds = 86_400
const day = daySeconds * 1000
const quiet = { error: () => {} }

/** The terms under which the records of the store lie. */
async function termsOf({ storage }: BarrierHouse): Promise<(number | undefined)[]> {
  const records = (await storage.list('')).filter(({ key }) => key !== keyringKey && key !== rootKeyKey)
  return [...new Set(records.map(({ value }) => termOf(value)))].sort()
}

/** Grows with each term. */
const ringBytes = async ({ storage }: BarrierHouse): Promise<number> => (await storage.get(keyringKey))?.value.length ?? 0

async function fill(barrier: Barrier, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) await barrier.view('n/').update(String(at), () => ({ at }))
}

const contentOf = async (barrier: Barrier) =>
  (await barrier.view('n/').list('')).map(({ key, value }) => [key, value]).sort(([a], [b]) => Number(a) - Number(b))

test('after a rotation all records are unchanged under the new term, and the old term is gone', async () => {
  await using house = await aBarrierHouse()
  const barrier = await house.open()
  await fill(barrier, 100)
  const [before, size] = [await house.storage.list('n/'), await ringBytes(house)]
  await using resealer = barrier.resealing(quiet)

  await barrier.rotate()
  await resealer.settled()

  expect(await termsOf(house)).toEqual([2])
  expect(await ringBytes(house)).toBe(size)
  expect(await contentOf(barrier)).toEqual(Array.from({ length: 100 }, (_, at) => [String(at), { at }]))
  // nobody sees it as a change
  expect((await house.storage.list('n/')).map(({ key, revision }) => [key, revision])).toEqual(before.map(({ key, revision }) => [key, revision]))
  expect(await contentOf(await house.open())).toHaveLength(100)
})

test('the keyring does not grow with the number of rotations', async () => {
  await using house = await aBarrierHouse()
  const barrier = await house.open()
  await fill(barrier, 10)
  const size = await ringBytes(house)
  await using resealer = barrier.resealing(quiet)

  for (let rotation = 0; rotation < 300; rotation += 1) await barrier.rotate()
  await resealer.settled()

  expect(barrier.keyStatus().term).toBe(301)
  expect(await ringBytes(house)).toBeLessThan(size + 10)
  expect(await contentOf(barrier)).toHaveLength(10)
})

test('concurrent writes are neither lost nor undone', async () => {
  await using house = await aBarrierHouse()
  const barrier = await house.open()
  await fill(barrier, 40)
  const view = barrier.view('n/')
  await using resealer = barrier.resealing(quiet)
  const count = async (key: string) => {
    for (let at = 0; at < 25; at += 1) await view.update(key, (current) => ({ ...Object(current), count: (Object(current).count ?? 0) + 1 }))
  }

  const rotate = async () => {
    for (let rotation = 0; rotation < 20; rotation += 1) await barrier.rotate()
  }
  const remove = async () => {
    for (let at = 30; at < 40; at += 1) await view.update(String(at), () => undefined)
  }
  await Promise.all([rotate(), remove(), ...Array.from({ length: 10 }, (_, at) => count(String(at)))])
  await resealer.settled()

  expect(await termsOf(house)).toEqual([21])
  expect(await contentOf(await house.open())).toEqual(Array.from({ length: 30 }, (_, at) => [String(at), at < 10 ? { at, count: 25 } : { at }]))
})

test('a reader that knows the revision may write against it', async () => {
  await using house = await aBarrierHouse()
  const barrier = await house.open()
  const view = barrier.view('n/')
  await view.write([{ key: 'a', value: 1 }])
  const known = await view.read('a')
  await using resealer = barrier.resealing(quiet)
  await barrier.rotate()
  await resealer.settled()

  expect(await view.write([{ key: 'a', value: 2, expect: known?.revision ?? 0 }])).toBe(true)
  expect(await view.write([{ key: 'a', value: 3, expect: known?.revision ?? 0 }])).toBe(false)
})

test.each([0, 1, 2, 5])('resealing that stopped after %i commits resumes at the next start', async (commits) => {
  await using house = await aBarrierHouse()
  const barrier = await house.open()
  await fill(barrier, 150)
  await barrier.rotate()
  const size = await ringBytes(house)
  const failures: unknown[] = []
  const cut = barrier.resealing({ error: (fields) => void failures.push(fields) })
  house.faults.arm('storage.before-commit', 'full', commits)
  cut.start()
  await cut.settled()
  await cut[Symbol.asyncDispose]()
  expect(failures).toHaveLength(1)

  const next = await house.open()
  await using resealer = next.resealing(quiet)
  resealer.start()
  await resealer.settled()

  expect(await termsOf(house)).toEqual([2])
  expect(await ringBytes(house)).toBeLessThan(size)
  expect(await contentOf(next)).toHaveLength(150)
})

test('the term of a record that cannot be opened stays', async () => {
  await using house = await aBarrierHouse()
  const barrier = await house.open()
  await fill(barrier, 3)
  const moved = await house.storage.get('n/1')
  await house.storage.write([{ key: 'n/elsewhere', value: moved?.value ?? new Uint8Array() }])
  const keys: string[] = []
  await using resealer = barrier.resealing({ error: (fields) => void keys.push(String(Object(fields).key)) })

  await barrier.rotate()
  await resealer.settled()

  expect(keys).toEqual(['n/elsewhere'])
  const back = await house.storage.get('n/elsewhere')
  await house.storage.write([{ key: 'n/1', value: back?.value ?? new Uint8Array() }])
  expect(await barrier.view('n/').get('1')).toEqual({ at: 1 })
})

test('a term stays while something issued under it must still open', async () => {
  await using house = await aBarrierHouse()
  const barrier = await house.open()
  await using resealer = barrier.resealing(quiet)
  const until = house.clock.now() + 10 * day
  const sealed = await barrier.sealText('out/x', 'text', until)
  await barrier.rotate()
  await resealer.settled()
  const size = await ringBytes(house)

  house.clock.advance(10 * daySeconds - 1)
  resealer.start()
  await resealer.settled()
  expect(barrier.openText('out/x', sealed)).toBe('text')
  expect((await house.open()).openText('out/x', sealed)).toBe('text')

  house.clock.advance(2 * daySeconds)
  resealer.start()
  await resealer.settled()
  expect(barrier.openText('out/x', sealed)).toBeUndefined()
  expect(await ringBytes(house)).toBeLessThan(size)
})

test('issuing many values does not write the keyring each time', async () => {
  await using house = await aBarrierHouse()
  const barrier = await house.open()
  await barrier.sealText('out/x', 'first', house.clock.now() + day)
  const before = await house.storage.get(keyringKey)

  await Promise.all(Array.from({ length: 50 }, (_, at) => barrier.sealText('out/x', 'text', house.clock.now() + day + at * 1_000)))

  expect((await house.storage.get(keyringKey))?.revision).toBe(before?.revision)
})
