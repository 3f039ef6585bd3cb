import { expect, test } from 'vitest'
import { rotationSchedule } from '../../../src/core/open/background-jobs.ts'
import { aBarrierFixture } from './barrier-fixture.ts'

const day = 86_400

async function aSchedule() {
  const fixture = await aBarrierFixture()
  const barrier = await fixture.open()
  const errors: unknown[] = []
  const schedule = rotationSchedule({
    barrier,
    clock: fixture.clock,
    intervalMs: 60_000,
    onError: (error) => void errors.push(error),
  })
  const termAfter = async (seconds: number) => {
    fixture.clock.advance(seconds)
    await schedule.run()
    return barrier.keyStatus().term
  }
  return {
    fixture,
    barrier,
    schedule,
    errors,
    termAfter,
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  }
}

test('a term ends after its interval, and the next one has the full interval', async () => {
  await using here = await aSchedule()
  await here.barrier.changeRotationRules((rules) => ({ ...rules, interval: 2 * day }))

  expect(await here.termAfter(2 * day - 1)).toBe(1)
  expect(await here.termAfter(1)).toBe(2)
  expect(await here.termAfter(2 * day - 1)).toBe(2)
  expect(await here.termAfter(5 * day)).toBe(3)
})

test('without an interval, or when rotation is off, no term ends', async () => {
  await using here = await aSchedule()

  expect(await here.termAfter(10_000 * day)).toBe(1)
  await here.barrier.changeRotationRules(() => ({ enabled: false, interval: day, max_operations: 1_000_000 }))
  expect(await here.termAfter(10_000 * day)).toBe(1)
})

test('the rules survive a restart', async () => {
  await using here = await aSchedule()
  await here.barrier.changeRotationRules((rules) => ({ ...rules, interval: day }))

  expect((await here.fixture.open()).rotationRules().interval).toBe(day)
})

test('a failure is logged and retried at the next check; a sealed barrier is left alone', async () => {
  await using here = await aSchedule()
  await here.barrier.changeRotationRules((rules) => ({ ...rules, interval: day }))
  here.fixture.faults.arm('storage.before-commit', 'full')

  expect(await here.termAfter(day)).toBe(1)
  expect(here.errors).toHaveLength(1)
  expect(await here.termAfter(0)).toBe(2)
  here.barrier.seal()
  await here.schedule.run()
  expect(here.errors).toHaveLength(1)
})

test('a term ends after as many encryptions as the rules say', async () => {
  await using fixture = await aBarrierFixture()
  const barrier = await fixture.open({ limits: { perKey: 1_000, block: 10 } })
  await barrier.changeRotationRules((rules) => ({ ...rules, max_operations: 20 }))

  for (let at = 0; at < 100; at += 1) await barrier.view('n/').update(String(at), () => at)

  expect(barrier.keyStatus().term).toBeGreaterThanOrEqual(5)
})
