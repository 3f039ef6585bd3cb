import type { LeaseBackend } from '../leases/lease-backend.ts'
import type { RenewalTerms } from '../tokens/renewal-terms.ts'
import type { Token } from '../tokens/token.ts'
import type { Mount, MountTable } from './mount.ts'

/** `abandon`: give up what cannot be taken back outside of the server. */
export type Removal = { readonly abandon: boolean }

/** What is known about a mount type before the stores are open. */
export type MountTypeNames = {
  readonly table: MountTable
  /** The names a client may give when it mounts one; the first one is the name of the plugin. */
  readonly names: readonly [string, ...string[]]
}

/** The code behind the mounts of a type, as the core sees it. A type without a method needs nothing done. */
export type MountType = MountTypeNames & {
  /** Renews and revokes the leases of its mounts. */
  readonly leases?: LeaseBackend
  /** The current terms for a token that a login at this mount issued. Without it, no token can be renewed. */
  renewalTerms?(token: Token, mount: Mount): Promise<RenewalTerms>
  /**
   * Takes back what a mount must not leave behind outside of the server. Called when its leases have ended,
   * before `empty`. If it rejects, the mount stays where it is, to be removed by another request.
   */
  clear?(mount: Mount, how: Removal): Promise<void>
  /**
   * Takes back what a mount keeps outside of the server, as far as possible. Called when its leases have
   * ended, before its data are deleted. If it rejects, the mount stays where it is.
   */
  empty?(mount: Mount): Promise<void>
  /** Starts the background jobs. Called at most once, and never with `BACKGROUND=off`. */
  start?(): void
  /** Ends, durably, what has expired by now: the clock is about to be set back. */
  settle?(): Promise<void>
} & Partial<AsyncDisposable>
