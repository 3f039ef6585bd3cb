import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { decide, waitingStep } from '../../src/storage/group.ts'
import { writeStep } from '../../src/storage/steps.ts'
import type { BatchEntry } from '../../src/storage/storage.ts'
import { packRows, unpackRows } from '../../src/storage/write-pack.ts'

const value = Buffer.from('value')
const batchOf = (count: number): BatchEntry[] =>
  Array.from({ length: count }, (_, at) => ({ key: `key/${at}`, value, expect: 'absent' as const }))

/** Decides batches as one group over an empty store. */
const decided = (batches: readonly (readonly BatchEntry[])[], read: (key: string) => boolean = () => false) =>
  decide(
    batches.map((batch) =>
      waitingStep(
        writeStep(batch),
        () => {},
        () => {},
      ),
    ),
    {
      read: (key) => (read(key) ? { key, value, revision: 1 } : undefined),
      keysUnder: () => [],
      nextRevision: () => 1,
    },
  )

/** How many turns of the event loop others have while `work` goes on. */
async function turnsBeside<T>(work: Promise<T>): Promise<[result: T, turns: number]> {
  let [turns, isOver] = [0, false]
  const others = (async () => {
    for (; !isOver; turns += 1) await nextTurn()
  })()
  const result = await work
  isOver = true
  await others
  return [result, turns]
}

test('a batch of many rows is decided in pages, and as a whole', async () => {
  const [{ rows }, turns] = await turnsBeside(decided([batchOf(2_000)]))

  expect(rows).toHaveLength(2_000)
  expect(turns).toBeGreaterThanOrEqual(7)
})

test('a batch of many rows writes nothing if the last is not as expected', async () => {
  expect((await decided([batchOf(1_000)], (key) => key === 'key/999')).rows).toEqual([])
})

test('many rows and large ones are packed with pauses', async () => {
  const rows = [...Array(1_000).fill(Buffer.from('a')), ...Array(10).fill(Buffer.alloc(300_000))].map(
    (bytes: Buffer, at) => ({ key: `key/${at}`, value: bytes, revision: at + 1, keepsRevision: false }),
  )

  const [packed, turns] = await turnsBeside(packRows(rows))

  expect([...unpackRows(packed)].map(({ key, value }) => [key, value?.length])).toEqual(
    rows.map(({ key, value }) => [key, value.length]),
  )
  expect(turns).toBeGreaterThanOrEqual(8)
})

test('many small batches of one group are decided with pauses, and all of them are written', async () => {
  const batches = Array.from({ length: 200 }, (_, at) =>
    Array.from({ length: 10 }, (_, row): BatchEntry => ({ key: `${at}/${row}`, value })),
  )

  const [{ taken, rows }, turns] = await turnsBeside(decided(batches))

  expect([taken, rows.length]).toEqual([200, 2_000])
  expect(turns).toBeGreaterThanOrEqual(3)
})
