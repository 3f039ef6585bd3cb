import type { LockoutConfig } from './lockout-config.ts'

/** One mount. docs/contract/mounts.md#what-a-mount-shows */
export type MountTable = 'auth' | 'secret'

export type MountConfig = {
  default_lease_ttl: number
  max_lease_ttl: number
  force_no_cache: boolean
  token_type?: string
  audit_non_hmac_request_keys?: string[]
  audit_non_hmac_response_keys?: string[]
  listing_visibility?: string
  passthrough_request_headers?: string[]
  allowed_response_headers?: string[]
  /** Kept for clients that compare what they wrote; without effect, like `delegated_auth_accessors`. */
  allowed_managed_keys?: string[]
  delegated_auth_accessors?: string[]
  /** A request whose path ends in `/` is served like the one without. */
  trim_request_trailing_slashes?: boolean
  /** Absent if it was never tuned. */
  user_lockout_config?: LockoutConfig
  /** The named key that signs the identity tokens of the mount; absent: `default`. */
  identity_token_key?: string
}

export type MountOptions = Record<string, string> | null

/** A pending move of a mount. */
export type MountMove = {
  /** Id of the migration. */
  readonly id: string
  readonly namespace: string
  readonly path: string
  /** Full paths, including those of the namespaces. */
  readonly source_mount: string
  readonly target_mount: string
}

export type Mount = {
  readonly table: MountTable
  /** Namespace id; `root` for the root namespace. */
  readonly namespace: string
  /** Full path with trailing slash, relative to the namespace; auth mounts begin with `auth/`. */
  readonly path: string
  readonly type: string
  /** Name of the plugin; several types may share one. */
  readonly plugin: string
  readonly accessor: string
  readonly uuid: string
  readonly description: string
  readonly config: MountConfig
  readonly options: MountOptions
  readonly local: boolean
  readonly seal_wrap: boolean
  readonly external_entropy_access: boolean
  /** True while the mount is being removed: requests get 404. */
  readonly tainted: boolean
  /** Set once the removal can no longer fail for what callers can change: its data is being deleted. */
  readonly deleting?: boolean
  /** Why the last removal failed. Only another call, or a start, tries again. */
  readonly failure?: string
  /**
   * Number of moves; tokens issued before the last move are invalid. Not a time, because clocks may be set.
   */
  readonly moves: number
  /** Set from the acceptance of a move until it has ended; a start resumes an interrupted move. */
  readonly moving?: MountMove
}
