import { describe, expect, test } from 'vitest'
import type { Barrier } from '../../../src/core/barrier/barrier.ts'
import { termOf } from '../../../src/core/barrier/sealed-value.ts'
import { aBarrierFixture, type BarrierFixture } from './barrier-fixture.ts'

const tiny = { perKey: 10, block: 4 }

/** The number of stored records sealed under each term, and all their values. */
async function termsOf(
  { storage }: BarrierFixture,
  prefix: string,
): Promise<Map<number | undefined, number>> {
  const counts = new Map<number | undefined, number>()
  for (const { value } of await storage.list(prefix))
    counts.set(termOf(value), (counts.get(termOf(value)) ?? 0) + 1)
  return counts
}

async function sealMany(barrier: Barrier, prefix: string, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await barrier.view(prefix).update(String(index), () => index)
}

describe('the limit of a data key', () => {
  test('is never exceeded: a new term begins first, and all values open', async () => {
    await using fixture = await aBarrierFixture()
    const barrier = await fixture.open({ limits: tiny })

    await sealMany(barrier, 'n/', 60)

    const counts = await termsOf(fixture, 'n/')
    expect(Math.max(...counts.values())).toBeLessThanOrEqual(tiny.perKey)
    expect(counts.size).toBeGreaterThanOrEqual(6)
    expect(
      (await barrier.view('n/').list('')).map(({ value }) => value).sort((a, b) => Number(a) - Number(b)),
    ).toEqual(Array.from({ length: 60 }, (_, n) => n))
  })

  test('counts the reservation of a stopped server as used', async () => {
    await using fixture = await aBarrierFixture()
    for (let start = 0; start < 8; start += 1)
      await sealMany(await fixture.open({ limits: tiny }), `n/${start}/`, 1)

    const counts = await termsOf(fixture, 'n/')

    // only two blocks of 4 fit into 10, and each start took one
    expect([...counts.entries()]).toEqual([
      [1, 2],
      [2, 2],
      [3, 2],
      [4, 2],
    ])
    const last = await fixture.open({ limits: tiny })
    expect(await last.view('n/').list('')).toHaveLength(8)
  })

  test('is shared by servers on the same store', async () => {
    await using fixture = await aBarrierFixture()
    const barriers = await Promise.all(Array.from({ length: 3 }, () => fixture.open({ limits: tiny })))

    await Promise.all(barriers.map((barrier, index) => sealMany(barrier, `n/${index}/`, 20)))

    const counts = await termsOf(fixture, 'n/')
    expect(Math.max(...counts.values())).toBeLessThanOrEqual(tiny.perKey)
  })

  test('nothing is sealed without a reservation, and sealing resumes once storage accepts one', async () => {
    await using fixture = await aBarrierFixture()
    await fixture.open({ limits: tiny })
    fixture.faults.arm('storage.before-commit', 'full')
    const barrier = await fixture.open({ limits: tiny })
    fixture.faults.arm('storage.before-commit', 'full')

    await expect(barrier.view('').update('a', () => 1)).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'storage is full',
    })
    await barrier.view('').update('a', () => 2)

    expect(await barrier.view('').get('a')).toBe(2)
  })
})

describe('the status of the keys', () => {
  test('shows term, time and encryptions, including those that were lost', async () => {
    await using fixture = await aBarrierFixture()
    const first = await fixture.open()
    await sealMany(first, 'n/', 5)
    expect(first.keyStatus()).toEqual({ term: 1, install_time: '2026-01-02T03:04:05.000Z', encryptions: 5 })

    const second = await fixture.open()
    await sealMany(second, 'n/', 3)

    expect(second.keyStatus().encryptions).toBe(1_000_003)
  })
})

describe('rotation', () => {
  test('seals under a new term from then on, and old values still open, also after a restart', async () => {
    await using fixture = await aBarrierFixture()
    const barrier = await fixture.open()
    await sealMany(barrier, 'old/', 3)
    fixture.clock.advance(60)

    const status = await barrier.rotate()
    await sealMany(barrier, 'new/', 3)

    expect(status).toEqual({ term: 2, install_time: '2026-01-02T03:05:05.000Z', encryptions: 0 })
    expect(await termsOf(fixture, 'old/')).toEqual(new Map([[1, 3]]))
    expect(await termsOf(fixture, 'new/')).toEqual(new Map([[2, 3]]))
    for (const open of [barrier, await fixture.open()]) {
      expect(await open.view('old/').get('2')).toBe(2)
      expect(await open.view('new/').get('2')).toBe(2)
    }
  })

  test('that storage rejects changes nothing', async () => {
    await using fixture = await aBarrierFixture()
    const barrier = await fixture.open()
    fixture.faults.arm('storage.before-commit', 'full')

    await expect(barrier.rotate()).rejects.toMatchObject({ kind: 'unavailable' })
    await sealMany(barrier, 'n/', 2)

    expect(barrier.keyStatus().term).toBe(1)
    expect(await termsOf(fixture, 'n/')).toEqual(new Map([[1, 2]]))
  })
})
