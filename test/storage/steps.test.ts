import { expect, test } from 'vitest'
import type { Steps } from '../../src/lib/concurrency/in-turns.ts'
import { type Decided, decide, waitingStep } from '../../src/storage/group.ts'
import { writeStep } from '../../src/storage/steps.ts'
import type { BatchEntry } from '../../src/storage/storage.ts'
import { packRows, unpackRows } from '../../src/storage/write-pack.ts'

const value = Buffer.from('value')
const batchOf = (count: number): BatchEntry[] =>
  Array.from({ length: count }, (_, at) => ({ key: `key/${at}`, value, expect: 'absent' as const }))

/** Decides one batch over an empty store; counts what was read in each step. */
function deciding(batch: readonly BatchEntry[], isThere: (key: string) => boolean = () => false) {
  const counts = { read: 0 }
  let revision = 0
  const steps = decide(
    [
      waitingStep(
        writeStep(batch),
        () => {},
        () => {},
      ),
    ],
    {
      read: (key) => {
        counts.read += 1
        return isThere(key) ? { key, value, revision: 1 } : undefined
      },
      keysUnder: () => [],
      nextRevision: () => (revision += 1),
    },
  )
  return { steps, counts }
}

/** Runs all steps; `between` is called after each. */
function finish<T>(steps: Steps<T>, between: () => void): T {
  for (;;) {
    const step = steps.next()
    between()
    if (step.done === true) return step.value
  }
}

test('a batch of many rows is decided a few rows at a time, and as a whole', () => {
  const { steps, counts } = deciding(batchOf(1_000))
  let [most, pauses] = [0, 0]

  const decided: Decided = finish(steps, () => {
    most = Math.max(most, counts.read)
    counts.read = 0
    pauses += 1
  })

  expect(decided.rows).toHaveLength(1_000)
  expect(most).toBeLessThanOrEqual(64)
  expect(pauses).toBeGreaterThan(30)
})

test('a small batch is decided in one step', () => {
  expect(deciding(batchOf(64)).steps.next()).toMatchObject({ done: true })
})

test('a batch of many rows writes nothing if the last is not as expected', () => {
  const { steps } = deciding(batchOf(1_000), (key) => key === 'key/999')

  expect(finish(steps, () => {}).rows).toEqual([])
})

test('many rows and large ones are packed a few at a time', () => {
  const rows = [...Array(1_000).fill(Buffer.from('a')), ...Array(10).fill(Buffer.alloc(300_000))].map(
    (bytes: Buffer, at) => ({ key: `key/${at}`, value: bytes, revision: at + 1, keepsRevision: false }),
  )
  let pauses = 0

  const packed = finish(packRows(rows), () => (pauses += 1))

  expect([...unpackRows(packed)].map(({ key, value }) => [key, value?.length])).toEqual(
    rows.map(({ key, value }) => [key, value.length]),
  )
  expect(pauses).toBeGreaterThan(17)
})

test('many small batches of one group are decided with pauses, and all of them are written', () => {
  const batches = Array.from({ length: 200 }, (_, at) =>
    writeStep(Array.from({ length: 10 }, (_, row): BatchEntry => ({ key: `${at}/${row}`, value }))),
  )
  const steps = decide(
    batches.map((batch) =>
      waitingStep(
        batch,
        () => {},
        () => {},
      ),
    ),
    { read: () => undefined, keysUnder: () => [], nextRevision: () => 1 },
  )
  let pauses = -1

  const decided = finish(steps, () => (pauses += 1))

  expect([decided.taken, decided.rows.length, pauses]).toEqual([200, 2_000, 3])
})
