import { rotationSchedule } from '../barrier/rotation-schedule.ts'
import { keyRotator } from '../identity-tokens/key-rotator.ts'
import { Periodic } from '../jobs/background.ts'
import { tokenSweeper } from '../tokens/end/token-revoker.ts'
import type { Stores } from './stores.ts'

const sweepIntervalMs = 5_000
const dataKeyCheckMs = 60_000
const groupCheckMs = 60_000
const lockSweepMs = 60_000

/** All background jobs. Disposing stops them and waits for the work in progress. */
export function backgroundJobs({
  barrier,
  clock,
  log,
  jobs,
  shared,
  root,
  groups,
  identityTokens,
  revoker,
  leases,
  tidy,
  lockouts,
  mountTypes,
}: Stores) {
  const stack = new AsyncDisposableStack()
  const resealing = jobs.job('reseal')
  const resealer = stack.use(barrier.resealing(log, (outcome) => resealing.ran(outcome)))
  const dataKeys = stack.use(
    rotationSchedule({
      barrier,
      clock,
      job: jobs.job('data-key-rotation'),
      intervalMs: dataKeyCheckMs,
      onError: (err) => log.error({ event: 'work_failed', err }, 'could not rotate the data key'),
    }),
  )
  const sweeper = stack.use(
    tokenSweeper({
      revoker,
      job: jobs.job('token-sweep'),
      intervalMs: sweepIntervalMs,
      onError: (err) => log.error({ event: 'work_failed', err }, 'could not remove expired tokens'),
    }),
  )
  const identityKeys = stack.use(
    keyRotator({
      root,
      clock,
      keys: identityTokens.keys,
      job: jobs.job('identity-keys'),
      intervalMs: sweepIntervalMs,
      onError: (err) => log.error({ event: 'work_failed', err }, 'could not rotate a key of identity tokens'),
    }),
  )
  const groupRemovals = stack.use(
    new Periodic({
      job: jobs.job('group-removals'),
      intervalMs: groupCheckMs,
      run: () => groups.completeRemovals(),
      onError: (err) =>
        log.error({ event: 'work_failed', err }, 'could not remove the members of a deleted group'),
    }),
  )
  const locks = stack.use(
    new Periodic({
      job: jobs.job('lock-sweep'),
      intervalMs: lockSweepMs,
      run: () => lockouts.sweep(),
      onError: (err) =>
        log.error({ event: 'work_failed', err }, 'could not remove the locks of users that have ended'),
    }),
  )
  return {
    /** Number of records that may still be encrypted with an older data key. */
    resealRemaining: () => resealer.remaining,
    start: () => {
      resealing.begin((held) => resealer.work(held))
      dataKeys.start()
      leases.start()
      tidy.begin()
      sweeper.start()
      identityKeys.start()
      locks.start()
      // a server alone completes its own at its start
      if (shared !== undefined) groupRemovals.start()
      mountTypes.start()
    },
    settle: async () => {
      await sweeper.run()
      await leases.expiry.endDue()
      await mountTypes.settle()
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
