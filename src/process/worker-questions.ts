import type { Reloadable } from '../config/config.ts'
import type { Config } from '../config/settings.ts'
import type { StartError } from '../errors.ts'
import type { SharedDoors } from '../http/wire/shared-addresses.ts'
import type { MetricFamily } from '../metrics/metric-families.ts'

export type Orders = SharedDoors & {
  readonly config: Config
  /** Whether no other process serves the addresses yet. */
  readonly isFirst: boolean
}

/** A start that failed. docs/settings.md#exit-codes */
export type StartFailure = Pick<StartError, 'exitCode' | 'message'>

export type WorkerAnswers = {
  stop(): void
  reload(settings: Reloadable): void
  /** Another worker was unsealed or initialized. */
  open(): Promise<void>
  metrics(): Promise<readonly MetricFamily[]>
  readiness(): Promise<string>
}

export type SupervisorAnswers = {
  orders(): Orders
  serving(): void
  failed(failure: StartFailure): void
  opened(): void
  metrics(): Promise<readonly MetricFamily[]>
}
