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
}

/** Where a mount is on its way to. */
export type MountMove = {
  /** Of the migration. */
  readonly id: string
  readonly namespace: string
  readonly path: string
  /** Full paths, with those of the namespaces. */
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
  /** The name of the code behind the mount; several types may share one. */
  readonly plugin: string
  readonly accessor: string
  readonly uuid: string
  readonly description: string
  readonly config: MountConfig
  readonly options: Record<string, string> | null
  readonly local: boolean
  readonly seal_wrap: boolean
  readonly external_entropy_access: boolean
  /** Being removed: requests get 404. */
  readonly tainted: boolean
  /**
   * How often it was moved: tokens it issued before the last time are no longer valid. Counted, not timed: a
   * clock may be set.
   */
  readonly moves: number
  /** Set from the moment a move is accepted until it is over: a start goes on with what a crash cut short. */
  readonly moving?: MountMove
}
