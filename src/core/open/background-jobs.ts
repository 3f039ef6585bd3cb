import type { Clock } from '../../lib/system/clock.ts'
import type { Barrier } from '../barrier/barrier.ts'
import { keyRotator } from '../identity-tokens/key-rotator.ts'
import { Periodic, type Timing } from '../jobs/background.ts'
import { tokenSweeper } from '../tokens/end/token-revoker.ts'
import type { Stores } from './stores.ts'

const sweepIntervalMs = 5_000
const checkIntervalMs = 60_000
const hourMs = 3_600_000

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
  history,
  policyUses,
  namespaces,
}: Stores) {
  const stack = new AsyncDisposableStack()
  const resealing = jobs.job('reseal')
  const resealer = stack.use(barrier.resealing(log, (outcome) => resealing.ran(outcome)))
  /** When a job runs, and what the log says if it fails. */
  const every = (intervalMs: number, name: string, failure: string): Timing => ({
    job: jobs.job(name),
    intervalMs,
    onError: (err) => log.error({ event: 'work_failed', err }, failure),
  })
  const dataKeyTiming = every(checkIntervalMs, 'data-key-rotation', 'could not rotate the data key')
  const dataKeys = stack.use(rotationSchedule({ ...dataKeyTiming, barrier, clock }))
  const sweeper = stack.use(
    tokenSweeper({ ...every(sweepIntervalMs, 'token-sweep', 'could not remove expired tokens'), revoker }),
  )
  const identityKeys = stack.use(
    keyRotator({
      ...every(sweepIntervalMs, 'identity-keys', 'could not rotate a key of identity tokens'),
      root,
      clock,
      keys: identityTokens.keys,
    }),
  )
  const groupRemovals = stack.use(
    new Periodic({
      ...every(checkIntervalMs, 'group-removals', 'could not remove the members of a deleted group'),
      run: () => groups.completeRemovals(),
    }),
  )
  const locks = stack.use(
    new Periodic({
      ...every(checkIntervalMs, 'lock-sweep', 'could not remove the locks of users that have ended'),
      run: () => lockouts.sweep(),
    }),
  )
  const histories = stack.use(
    new Periodic({
      ...every(hourMs, 'history-sweep', 'could not remove what is too old of the history'),
      run: async (stopping) => {
        await history.sweep(['root', ...namespaces.all().map(({ id }) => id)], stopping)
        if (!stopping.aborted) await policyUses.tidy()
      },
    }),
  )
  // what was noted since the last time, at the end too
  stack.defer(() => policyUses.record().catch(() => undefined))
  const uses = stack.use(
    new Periodic({
      intervalMs: checkIntervalMs,
      run: () => policyUses.record(),
      onError: (err) => log.error({ event: 'work_failed', err }, 'could not record the uses of policies'),
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
      histories.start()
      uses.start()
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

export type RotationScheduleParts = Timing & {
  readonly barrier: Pick<Barrier, 'isSealed' | 'keyStatus' | 'rotationRules' | 'rotate'>
  readonly clock: Clock
}

/** Starts a new term after the interval of the rotation rules. */
export const rotationSchedule = ({ barrier, clock, ...job }: RotationScheduleParts): Periodic =>
  new Periodic({
    ...job,
    run: async () => {
      if (barrier.isSealed()) return
      const { enabled, interval } = barrier.rotationRules()
      const due = Date.parse(barrier.keyStatus().install_time) + interval * 1000
      if (enabled && interval > 0 && due <= clock.now()) await barrier.rotate()
    },
  })
