import type { Clock } from '../../lib/system/clock.ts'
import { Periodic, type Timing } from '../jobs/background.ts'
import type { Barrier } from './barrier.ts'

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
