import type { Core } from '../core/open/core.ts'
import { DatabaseTime } from '../core/servers/database-time.ts'
import { TimeKeeper } from '../core/servers/time-keeper.ts'
import { type Clock, type ClockStep, MachineClock } from '../lib/system/clock.ts'
import type { Log } from '../log/log.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Storage } from '../storage/storage.ts'

/**
 * Makes the clock follow the database, if several servers share one. A test's clock follows nothing.
 * docs/replicas.md#time
 */
export async function followDatabase(
  { shared }: Storage,
  clock: Clock,
  log: Log,
): Promise<DatabaseTime | undefined> {
  if (shared === undefined || !(clock instanceof MachineClock)) return undefined
  const time = new DatabaseTime({ shared, clock, log })
  await time.start()
  return time
}

/** Watches the system clock while the server runs. A test's clock needs no watching. docs/operations.md#time */
export async function keepTime(core: Core, metrics: Metrics): Promise<TimeKeeper | undefined> {
  const { clock, view, log, settle, recheck } = core
  const whose = core.jobs.isShared ? 'the database' : 'this machine'
  if (!(clock instanceof MachineClock)) return undefined
  return TimeKeeper.start({
    clock,
    view,
    settle,
    onStep: ({ before, after }: ClockStep) => {
      const direction = after < before ? 'back' : 'forward'
      metrics.clockStepped(direction)
      const times = { before: new Date(before).toISOString(), after: new Date(after).toISOString() }
      log.warn(
        { event: 'clock_step', direction, ...times, seconds: (after - before) / 1000 },
        `the clock of ${whose} was set ${direction}`,
      )
      // the timers of long polls are wrong now
      recheck()
    },
    onError: (err) =>
      log.error({ event: 'work_failed', err }, 'could not end expired leases before the clock was set back'),
  })
}
