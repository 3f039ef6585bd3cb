import type { Core } from './core/core.ts'
import { TimeKeeper } from './core/time-keeper.ts'
import { type ClockStep, MachineClock } from './lib/clock.ts'
import type { Metrics } from './metrics/metrics.ts'

/**
 * Watches the system clock while the server runs. A test's clock needs no watching. docs/operations.md#time
 */
export async function keepTime(core: Core, metrics: Metrics): Promise<TimeKeeper | undefined> {
  const { clock, view, log, settle, recheck } = core
  if (!(clock instanceof MachineClock)) return undefined
  return TimeKeeper.start({
    ...{ clock, view, settle },
    onStep: ({ before, after }: ClockStep) => {
      const direction = after < before ? 'back' : 'forward'
      metrics.clockStepped(direction)
      const times = { before: new Date(before).toISOString(), after: new Date(after).toISOString() }
      log.warn(
        { event: 'clock_step', direction, ...times, seconds: (after - before) / 1000 },
        `the clock of this machine was set ${direction}`,
      )
      // the timers of long polls are wrong now
      recheck()
    },
    onError: (err) => log.error({ err }, 'could not end expired leases before the clock was set back'),
  })
}
