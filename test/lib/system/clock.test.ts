import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ClockStep, MachineClock } from '../../../src/lib/system/clock.ts'

const minute = 60_000
const begin = Date.parse('2026-01-01T00:00:00Z')

/** A machine whose clock a test sets. */
function aMachine() {
  let passed = 0
  let set = begin
  const machine = { wall: () => set + passed, steady: () => passed }
  return {
    clock: new MachineClock(machine),
    pass: (ms: number) => {
      passed += ms
    },
    set: (ms: number) => {
      set += ms
    },
    wall: machine.wall,
  }
}

function steps(clock: MachineClock): ClockStep[] {
  const seen: ClockStep[] = []
  clock.onStep((step) => seen.push(step))
  return seen
}

describe('a step backward of at most 5 minutes', () => {
  test('is absorbed: time passes at half its pace until the machine has caught up', () => {
    const { clock, pass, set, wall } = aMachine()
    const seen = steps(clock)
    pass(1000)
    expect(clock.now()).toBe(begin + 1000)

    set(-5 * minute)
    pass(1000)
    const first = clock.now()
    pass(5 * minute)
    const half = clock.now()
    pass(6 * minute)
    clock.now()
    pass(1000)

    expect(first).toBeGreaterThanOrEqual(begin + 1000)
    expect(half - first).toBe(2.5 * minute)
    expect(clock.now()).toBe(wall())
    expect(seen).toEqual([])
  })

  test('never makes time go back, however often it happens', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ pass: fc.nat(90_000), set: fc.integer({ min: -minute, max: minute }) }), {
          maxLength: 50,
        }),
        (moves) => {
          const { clock, pass, set } = aMachine()
          clock.onStep(() => {})
          let last = clock.now()
          for (const move of moves) {
            pass(move.pass)
            set(move.set)
            const now = clock.now()
            expect(now).toBeGreaterThanOrEqual(last)
            last = now
          }
        },
      ),
    )
  })
})

describe('a larger step', () => {
  test('backward is reported once, and time continues as before until it is adopted', () => {
    const { clock, pass, set, wall } = aMachine()
    const seen = steps(clock)
    pass(200)
    set(-5 * minute - 1)
    pass(200)
    const before = clock.now()
    pass(5000)
    const later = clock.now()
    clock.adopt()

    expect(seen).toEqual([{ before: begin + 400, after: begin + 400 - 5 * minute - 1 }])
    expect(later - before).toBe(5000)
    expect(clock.now()).toBe(wall())
  })

  test('backward that is undone before it is adopted has no effect', () => {
    const { clock, pass, set, wall } = aMachine()
    const seen = steps(clock)
    set(-10 * minute)
    pass(200)
    clock.now()
    set(10 * minute)
    pass(200)

    expect(clock.now()).toBe(wall())
    set(-10 * minute)
    pass(200)
    clock.now()
    expect(seen).toHaveLength(2)
  })

  test('forward is adopted at once and reported', () => {
    const { clock, pass, set, wall } = aMachine()
    const seen = steps(clock)
    pass(200)
    set(3600_000)
    pass(200)

    expect(clock.now()).toBe(wall())
    expect(seen).toEqual([{ before: begin + 400, after: begin + 400 + 3600_000 }])
  })

  test('is adopted at once if nobody listens', () => {
    const { clock, pass, set, wall } = aMachine()
    set(-3600_000)
    pass(200)

    expect(clock.now()).toBe(wall())
  })
})

describe('a process that starts with a clock behind the last one', () => {
  test('by at most 5 minutes continues from there', () => {
    const { clock, pass } = aMachine()
    const seen = steps(clock)
    clock.startFrom(begin + 4 * minute)
    pass(200)

    expect(clock.now()).toBe(begin + 4 * minute + 100)
    expect(seen).toEqual([])
  })

  test('by more reports a step', () => {
    const { clock } = aMachine()
    const seen = steps(clock)
    clock.startFrom(begin + 60 * minute)

    expect(seen).toEqual([{ before: begin + 60 * minute, after: begin }])
    expect(clock.now()).toBe(begin + 60 * minute)
  })
})
