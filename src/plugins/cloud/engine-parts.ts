import type { Jobs } from '../../core/jobs/jobs.ts'
import type { Mount } from '../../core/mounts/mount.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { LogLine } from '../../lib/system/log-fields.ts'
import type { Random } from '../../lib/system/random.ts'
import type { MountState } from './mount-state.ts'
import type { Pause } from './upstream/index.ts'

export type EngineLog = { readonly info: LogLine; readonly warn: LogLine; readonly error: LogLine }

export type EngineParts = {
  /** The engine's mounts, without those that are being removed. */
  mounts(): readonly Mount[]
  everyMount(): readonly Mount[]
  stateOf(mount: Mount): MountState
  /** Counts as a request in the mount until the returned function is called. Undefined if the mount is closed. */
  enter(mount: Mount): (() => void) | undefined
  readonly clock: Clock
  readonly random: Random
  readonly log: EngineLog
  readonly jobs: Pick<Jobs, 'job'>
  readonly pause: Pause
}
