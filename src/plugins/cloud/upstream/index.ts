import type { OutboundClient } from '../../../core/outbound.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { DirectoryApi } from './directory-api.ts'
import type { Environment } from './environments.ts'
import type { ResourceManagerApi } from './resource-manager-api.ts'
import type { TokenSource } from './token-source.ts'
import type { UpstreamCall } from './upstream-call.ts'
import type { UpstreamOperation } from './upstream-error.ts'

export * from './classification.ts'
export type * from './directory-api.ts'
export * from './environments.ts'
export type * from './resource-manager-api.ts'
export type * from './token-source.ts'
export type * from './upstream-call.ts'
export * from './upstream-error.ts'

/** What one mount signs in with, and where: the effective settings, all resolved. Contract cloud-engine §2.3. */
export type UpstreamSettings = {
  readonly subscriptionId: string
  readonly tenantId: string
  readonly clientId: string
  readonly clientSecret: string
  readonly environment: Environment
  /** Certificates trusted beside the system's, PEM (the contents of `CLOUD_CA_FILE`). */
  readonly caPem?: string | undefined
}

export type UpstreamParts = {
  readonly outbound: OutboundClient
  readonly clock: Clock
  /** Waits that long, or until the signal; tests move their clock instead. */
  readonly pause?: (milliseconds: number, signal?: AbortSignal) => Promise<void>
  /** 0 ≤ x < 1. */
  readonly random?: () => number
}

/** The three services behind one root credential. Made anew when a setting changes; holds no timer and nothing to close. */
export type Upstream = {
  readonly directory: DirectoryApi
  readonly resourceManager: ResourceManagerApi
  readonly tokens: TokenSource
  /** The directory's address without `/v1.0`. */
  readonly directoryBase: string
  /** How far upstream's clock is ahead of ours, from the `Date` of the last answer; undefined before the first. */
  clockOffsetMs(): number | undefined
  /**
   * Does `operation` again, 2–7 s apart, while what it depends on is not replicated yet (`classify` says `retry` for the step), until the call's
   * deadline and for at most 80 s. The error of the end is `retry failed: <last error>: context deadline exceeded`. Contract cloud-engine §4.2.
   */
  untilReplicated<Result>(step: UpstreamOperation, call: UpstreamCall, operation: (call: UpstreamCall) => Promise<Result>): Promise<Result>
}

export declare function openUpstream(settings: UpstreamSettings, parts: UpstreamParts): Upstream
