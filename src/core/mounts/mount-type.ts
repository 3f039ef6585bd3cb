import type { JsonValue } from '../../lib/json.ts'
import type { LeaseBackend } from '../leases/lease-backend.ts'
import type { RenewalTerms } from '../tokens/renewal-terms.ts'
import type { Token } from '../tokens/token.ts'
import type { Mount, MountTable } from './mount.ts'

/** `abandon`: give up on external objects that cannot be revoked. */
export type Removal = { readonly abandon: boolean }

/** The declaration of a mount type, known before the stores are open. */
export type MountTypeNames = {
  readonly table: MountTable
  /** The type names that clients may use to mount it; the first one is the name of the plugin. */
  readonly names: readonly [string, ...string[]]
  /** Wrong secrets lock its users out: its mounts can be tuned with `user_lockout_config`. docs/contract/lockout.md */
  readonly locksUsers?: true
  /** Prefixes of the records in a mount that are used once, such as pending logins: a backup must not revive them. */
  readonly usedOnce?: readonly string[]
}

/** A mount type as the core sees it. Methods that a type does not need are absent. */
export type MountType = MountTypeNames & {
  /** Renews and revokes the leases of its mounts. */
  readonly leases?: LeaseBackend
  /** The current renewal terms of a login token of this mount. If absent, its tokens cannot be renewed. */
  renewalTerms?(token: Token, mount: Mount): Promise<RenewalTerms>
  /**
   * Removes external objects that a mount must not leave behind. Called after its leases have ended, before
   * `empty`. If it rejects, the mount stays, and another request can retry the removal.
   */
  clear?(mount: Mount, how: Removal): Promise<void>
  /**
   * Removes other external objects as far as possible. Called after its leases have ended, before its data is
   * deleted. If it rejects, the mount stays.
   */
  empty?(mount: Mount): Promise<void>
  /**
   * The name of the role of a login, from the fields of its body; empty for none. If absent, rate limits of its
   * mounts cannot name a role.
   */
  loginRole?(mount: Mount, fields: Readonly<Record<string, JsonValue>>): Promise<string>
  /** Starts the background jobs. Called at most once, and never with `BACKGROUND=off`. */
  start?(): void
  /** Durably ends everything that has expired, because the clock is about to be set back. */
  settle?(): Promise<void>
} & Partial<AsyncDisposable>
