import type { MountTokens } from '../../../core/identity-tokens/mount-tokens.ts'
import type { Mount } from '../../../core/mounts/mount.ts'
import type { Servers } from '../../../core/servers/servers.ts'
import type { EngineParts } from '../engine-parts.ts'
import type { ReadyUpstream } from '../mount-state.ts'
import type { UpstreamCall } from '../upstream/index.ts'
import type { Attempt, Undone } from './intents.ts'
import type { Owners } from './ownership.ts'

/**
 * How often an undo is tried, and how old an intent must be before "not found" is believed, in milliseconds: some
 * replicas of the cloud learn of a new object late.
 */
export const usualPatience = {
  /** For an object that is requested by its id. */
  byId: 60_000,
  /** For an object that is searched for: lists lag further behind. docs/contract/cloud.md#undo */
  bySearch: 600_000,
  /** For a deleted object that must be purged. */
  byPurge: 24 * 3600_000,
  /** The pause after the first attempt; each later one is twice as long. */
  retry: 500,
}

export type Patience = Readonly<typeof usualPatience>

export type UndoParts = Owners &
  Pick<EngineParts, 'clock' | 'random' | 'log' | 'everyMount' | 'stateOf'> & {
    readonly patience: Patience
    readonly servers: Pick<Servers, 'confirmCopies'>
    readonly mountTokens: Pick<MountTokens, 'identityOf'>
    /** The mount may have been moved since its state was opened. */
    mountNow(): Mount
  }

/** One attempt to undo an intent. */
export type Undoing = UndoParts & {
  readonly upstream: ReadyUpstream
  readonly call: UpstreamCall
  readonly ageMs: number
  readonly attempt: Attempt
}

export const done: Undone = { done: true }
export const later = (reason: string): Undone => ({ done: false, later: reason })
