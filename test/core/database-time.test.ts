import { expect, test } from 'vitest'
import { DatabaseTime } from '../../src/core/servers/database-time.ts'
import { MachineClock } from '../../src/lib/system/clock.ts'

const begin = Date.parse('2026-01-01T00:00:00Z')
const second = 1000

/**
 * A machine whose clock is `ahead` of the database's, and a database that answers after `takes` ms, of which
 * `back` on the way back.
 */
function aMachine({ ahead = 0 } = {}) {
  let passed = 0
  let set = 0
  const database = { takes: 0, back: 0, isDown: false }
  const clock = new MachineClock({ wall: () => begin + ahead + passed, steady: () => passed })
  const events: object[] = []
  const note = (fields: object) => void events.push(fields)
  const time = new DatabaseTime({
    clock,
    log: { info: note, warn: note, error: note },
    shared: {
      databaseTime: async () => {
        if (database.isDown) throw new Error('connection refused')
        passed += database.takes - database.back
        const now = begin + passed + set
        passed += database.back
        return now
      },
    },
  })
  return {
    clock,
    database,
    events,
    time,
    pass: (ms: number) => {
      passed += ms
    },
    setDatabase: (ms: number) => {
      set += ms
    },
    /** How far the server's time is ahead of the database's, when the clock next reads what it follows. */
    error: () => {
      passed += 100
      return clock.now() - (begin + passed + set)
    },
  }
}

test.each([30, -30])('a machine whose clock is %i s ahead has the time of the database', async (seconds) => {
  const { time, pass, error } = aMachine({ ahead: seconds * second })
  await time.measure()
  expect([error(), time.offsetMs]).toEqual([0, seconds * second])

  pass(9 * second)
  expect(error()).toBe(0)
})

test('the sample with the shortest round trip counts, and half of the round trip is taken off', async () => {
  const { time, database, error } = aMachine({ ahead: 7 * second })
  database.takes = 400
  database.back = 400
  await time.measure()
  expect(error()).toBe(-200)

  database.takes = 10
  database.back = 5
  await time.measure()
  expect(error()).toBe(0)

  database.takes = 900
  await time.measure()
  expect(error()).toBe(0)
})

test('a database whose clock was set is followed at the next measurement', async () => {
  const { time, setDatabase, error } = aMachine()
  await time.measure()
  setDatabase(20 * second)
  await time.measure()

  expect(error()).toBe(0)
})

test('a small step back of the database is absorbed: time does not run backwards', async () => {
  const { time, setDatabase, pass, clock, error } = aMachine()
  await time.measure()
  const before = clock.now()
  setDatabase(-4 * second)
  await time.measure()
  pass(2 * second)
  expect(clock.now()).toBeGreaterThan(before)

  pass(10 * second)
  clock.now()
  expect(error()).toBe(0)
})

test('a database that is not reachable leaves the time as it was', async () => {
  const { time, database, pass, error } = aMachine({ ahead: 30 * second })
  await time.measure()
  database.isDown = true
  pass(60 * second)
  await time.measure()

  expect(error()).toBe(0)
})

test('a machine that is off by more than 5 s is logged once, and by more than 60 s it is not ready', async () => {
  const { time, setDatabase, events, clock, pass } = aMachine({ ahead: 4 * second })
  const judge = async (seconds: number) => {
    setDatabase(seconds * second)
    pass(second)
    await time.measure()
    clock.now()
    return time.isFarOff
  }
  const isFarOff = [await judge(0), await judge(-2), await judge(-2), await judge(-60), await judge(64)]

  expect(isFarOff).toEqual([false, false, false, true, false])
  expect(events).toEqual([
    { event: 'clock_offset', seconds: 6 },
    { event: 'clock_offset', seconds: 68 },
    { event: 'clock_offset', seconds: 4 },
  ])
})
