import { expect, test } from 'vitest'
import type { Barrier } from '../../../src/core/barrier/barrier.ts'
import { keyringKey } from '../../../src/core/barrier/keyring-record.ts'
import { rootKeyKey } from '../../../src/core/barrier/root-key.ts'
import { termOf } from '../../../src/core/barrier/sealed-value.ts'
import { pageSize } from '../../../src/lib/data/pages.ts'
import { aBarrierFixture, type BarrierFixture } from './barrier-fixture.ts'

const daySeconds = 86_400
const day = daySeconds * 1000
const quiet = { info: () => {}, error: () => {} }

/** The terms under which the stored records are sealed. */
async function termsOf({ storage }: BarrierFixture): Promise<(number | undefined)[]> {
  const records = (await storage.list('')).filter(({ key }) => key !== keyringKey && key !== rootKeyKey)
  return [...new Set(records.map(({ value }) => termOf(value)))].sort()
}

/** Grows with each term. */
const ringBytes = async ({ storage }: BarrierFixture): Promise<number> =>
  (await storage.get(keyringKey))?.value.length ?? 0

async function fill(barrier: Barrier, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) await barrier.view('n/').update(String(at), () => ({ at }))
}

const contentOf = async (barrier: Barrier) =>
  (await barrier.view('n/').list(''))
    .map(({ key, value }) => [key, value])
    .sort(([a], [b]) => Number(a) - Number(b))

test('after a rotation all records are unchanged under the new term, and the old term is gone', async () => {
  await using fixture = await aBarrierFixture()
  const barrier = await fixture.open()
  await fill(barrier, 100)
  const [before, size] = [await fixture.storage.list('n/'), await ringBytes(fixture)]
  await using resealer = barrier.resealing(quiet)
  resealer.start()

  await barrier.rotate()
  await resealer.settled()

  expect(await termsOf(fixture)).toEqual([2])
  expect(await ringBytes(fixture)).toBe(size)
  expect(await contentOf(barrier)).toEqual(Array.from({ length: 100 }, (_, at) => [String(at), { at }]))
  // it does not count as a change
  expect((await fixture.storage.list('n/')).map(({ key, revision }) => [key, revision])).toEqual(
    before.map(({ key, revision }) => [key, revision]),
  )
  expect(await contentOf(await fixture.open())).toHaveLength(100)
})

test('the keyring does not grow with the number of rotations', async () => {
  await using fixture = await aBarrierFixture()
  const barrier = await fixture.open()
  await fill(barrier, 10)
  const size = await ringBytes(fixture)
  await using resealer = barrier.resealing(quiet)
  resealer.start()

  for (let rotation = 0; rotation < 300; rotation += 1) await barrier.rotate()
  await resealer.settled()

  expect(barrier.keyStatus().term).toBe(301)
  expect(await ringBytes(fixture)).toBeLessThan(size + 10)
  expect(await contentOf(barrier)).toHaveLength(10)
})

test('concurrent writes are neither lost nor undone', async () => {
  await using fixture = await aBarrierFixture()
  const barrier = await fixture.open()
  await fill(barrier, 40)
  const view = barrier.view('n/')
  await using resealer = barrier.resealing(quiet)
  resealer.start()
  const count = async (key: string) => {
    for (let at = 0; at < 25; at += 1)
      await view.update(key, (current) => ({ ...Object(current), count: (Object(current).count ?? 0) + 1 }))
  }

  const rotate = async () => {
    for (let rotation = 0; rotation < 20; rotation += 1) await barrier.rotate()
  }
  const remove = async () => {
    for (let at = 30; at < 40; at += 1) await view.update(String(at), () => undefined)
  }
  await Promise.all([rotate(), remove(), ...Array.from({ length: 10 }, (_, at) => count(String(at)))])
  await resealer.settled()

  expect(await termsOf(fixture)).toEqual([21])
  expect(await contentOf(await fixture.open())).toEqual(
    Array.from({ length: 30 }, (_, at) => [String(at), at < 10 ? { at, count: 25 } : { at }]),
  )
})

test('a reader that knows the revision may write against it', async () => {
  await using fixture = await aBarrierFixture()
  const barrier = await fixture.open()
  const view = barrier.view('n/')
  await view.write([{ key: 'a', value: 1 }])
  const known = await view.read('a')
  await using resealer = barrier.resealing(quiet)
  resealer.start()
  await barrier.rotate()
  await resealer.settled()

  expect(await view.write([{ key: 'a', value: 2, expect: known?.revision ?? 0 }])).toBe(true)
  expect(await view.write([{ key: 'a', value: 3, expect: known?.revision ?? 0 }])).toBe(false)
})

test.each([0, 1, 2, 3])(
  'resealing that stopped after %i commits resumes at the next start',
  async (commits) => {
    await using fixture = await aBarrierFixture()
    const barrier = await fixture.open()
    await fill(barrier, 600)
    await barrier.rotate()
    const size = await ringBytes(fixture)
    const failures: unknown[] = []
    const cut = barrier.resealing({ ...quiet, error: (fields) => void failures.push(fields) })
    fixture.faults.arm('storage.before-commit', 'full', commits)
    cut.start()
    await cut.settled()
    await cut[Symbol.asyncDispose]()
    expect(failures).toHaveLength(1)

    const next = await fixture.open()
    await using resealer = next.resealing(quiet)
    resealer.start()
    await resealer.settled()

    expect(await termsOf(fixture)).toEqual([2])
    expect(await ringBytes(fixture)).toBeLessThan(size)
    expect(await contentOf(next)).toHaveLength(600)
  },
)

test('the term of a record that cannot be opened stays', async () => {
  await using fixture = await aBarrierFixture()
  const barrier = await fixture.open()
  await fill(barrier, 3)
  const moved = await fixture.storage.get('n/1')
  await fixture.storage.write([{ key: 'n/elsewhere', value: moved?.value ?? new Uint8Array() }])
  const keys: string[] = []
  await using resealer = barrier.resealing({
    ...quiet,
    error: (fields) => void keys.push(String(Object(fields).key)),
  })
  resealer.start()

  await barrier.rotate()
  await resealer.settled()

  expect(keys).toEqual(['n/elsewhere'])
  const back = await fixture.storage.get('n/elsewhere')
  await fixture.storage.write([{ key: 'n/1', value: back?.value ?? new Uint8Array() }])
  expect(await barrier.view('n/').get('1')).toEqual({ at: 1 })
})

test('a term stays while something issued under it must still open', async () => {
  await using fixture = await aBarrierFixture()
  const barrier = await fixture.open()
  await using resealer = barrier.resealing(quiet)
  resealer.start()
  const until = fixture.clock.now() + 10 * day
  const sealed = await barrier.sealText('out/x', 'text', until)
  await barrier.rotate()
  await resealer.settled()
  const size = await ringBytes(fixture)

  fixture.clock.advance(10 * daySeconds - 1)
  resealer.start()
  await resealer.settled()
  expect(await barrier.openText('out/x', sealed)).toBe('text')
  expect(await (await fixture.open()).openText('out/x', sealed)).toBe('text')

  fixture.clock.advance(2 * daySeconds)
  resealer.start()
  await resealer.settled()
  expect(await barrier.openText('out/x', sealed)).toBeUndefined()
  expect(await ringBytes(fixture)).toBeLessThan(size)
})

test('issuing many values does not write the keyring each time', async () => {
  await using fixture = await aBarrierFixture()
  const barrier = await fixture.open()
  await barrier.sealText('out/x', 'first', fixture.clock.now() + day)
  const before = await fixture.storage.get(keyringKey)

  await Promise.all(
    Array.from({ length: 50 }, (_, at) =>
      barrier.sealText('out/x', 'text', fixture.clock.now() + day + at * 1_000),
    ),
  )

  expect((await fixture.storage.get(keyringKey))?.revision).toBe(before?.revision)
})

test('nothing is re-encrypted before the first start, even after a rotation', async () => {
  await using fixture = await aBarrierFixture()
  const barrier = await fixture.open()
  await fill(barrier, 10)
  await using resealer = barrier.resealing(quiet)

  await barrier.rotate()
  await resealer.settled()

  expect(await termsOf(fixture)).toEqual([1])
})

test('the number of remaining records falls to zero, and the end is logged', async () => {
  await using fixture = await aBarrierFixture()
  const barrier = await fixture.open()
  await fill(barrier, 600)
  const ends: object[] = []
  await using resealer = barrier.resealing({ ...quiet, info: (fields) => void ends.push(fields) })
  await barrier.rotate()
  fixture.faults.arm('storage.before-commit', 'full', 1)

  resealer.start()
  await resealer.settled()
  const afterFailure = resealer.remaining
  resealer.start()
  await resealer.settled()

  // a page was re-encrypted before the failure, and keyring and root key are records too
  expect([afterFailure, resealer.remaining]).toEqual([602 - pageSize, 0])
  expect(ends).toEqual([{ event: 'resealed', term: 2 }])
})

test('a pass ends while others write', async () => {
  await using fixture = await aBarrierFixture()
  const barrier = await fixture.open()
  await fill(barrier, 200)
  await using resealer = barrier.resealing(quiet)
  const pass = { isOver: false }
  const write = async () => {
    for (let at = 0; !pass.isOver; at += 1) await barrier.view(`w/${at}/`).update('a', () => at)
  }
  const writing = Promise.all([write(), write(), write(), write()])

  resealer.start()
  await barrier.rotate()
  await resealer.settled()
  pass.isOver = true
  await writing

  expect(await termsOf(fixture)).toEqual([2])
})
