import type { EngineLog, EngineParts } from '../engine-parts.ts'
import type { MountState } from '../mount-state.ts'

export type StaticWork = Pick<EngineParts, 'clock' | 'random' | 'pause'> & {
  readonly state: MountState
  readonly correlationId: string
  readonly signal: AbortSignal
  readonly log: Pick<EngineLog, 'info' | 'warn'>
  otherStates(): readonly MountState[]
  /** Counts as a request in the mount until the returned function is called. Undefined if it is closed. */
  enter(): (() => void) | undefined
}
