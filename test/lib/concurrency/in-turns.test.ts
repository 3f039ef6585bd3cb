import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { atOnce, inTurns, type Steps, startedInTurns } from '../../../src/lib/concurrency/in-turns.ts'

/** Keeps the processor for longer than a turn may take. */
function aLongStep(): void {
  for (const endsAt = performance.now() + 1; performance.now() < endsAt; );
}

function* longSteps(count: number): Steps<number> {
  for (let done = 0; done < count; done += 1) {
    aLongStep()
    yield
  }
  return count
}

test('between two long steps, other work has its turn', async () => {
  let [turns, isOver] = [0, false]
  const others = (async () => {
    for (; !isOver; turns += 1) await nextTurn()
  })()

  const result = await inTurns(longSteps(5))
  isOver = true
  await others

  expect(result).toBe(5)
  expect(turns).toBeGreaterThanOrEqual(5)
})

test('work that fails after a pause rejects', async () => {
  function* failing(): Steps<void> {
    yield* longSteps(1)
    throw new Error('failed')
  }

  await expect(inTurns(failing())).rejects.toThrow('failed')
  expect(() => atOnce(failing())).toThrow('failed')
})

test('the same work can be done at once', () => {
  expect(atOnce(longSteps(2))).toBe(2)
})

test('work that is started on many items gives way, waits for nobody, and fails by itself', async () => {
  const last = Promise.withResolvers<void>()
  let [turns, isOver] = [0, false]
  const others = (async () => {
    for (; !isOver; turns += 1) await nextTurn()
  })()

  const outcomes = await startedInTurns([1, 2, 3, 4], async (item) => {
    aLongStep()
    if (item === 2) throw new Error('failed')
    if (item === 4) last.resolve()
    await last.promise
    return item
  })
  isOver = true
  await others

  expect(outcomes.map((one) => (one.status === 'fulfilled' ? one.value : one.reason.message))).toEqual([
    ...[1, 'failed', 3, 4],
  ])
  expect(turns).toBeGreaterThanOrEqual(3)
})
