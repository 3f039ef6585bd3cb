import { z } from 'zod'

/** One mount. docs/contract/mounts.md#what-a-mount-shows */
export type MountTable = Mount['table']

const texts = z.array(z.string()).exactOptional()

/** When a mount locks a user, as it was tuned; 0 is the server's value. Durations are seconds. docs/contract/lockout.md#tuning */
const lockoutFields = z.object({
  user_lockout_threshold: z.number(),
  user_lockout_duration: z.number(),
  user_lockout_counter_reset_duration: z.number(),
  user_lockout_disable: z.boolean(),
})
export type LockoutConfig = Readonly<z.output<typeof lockoutFields>>

const configFields = z.object({
  default_lease_ttl: z.number(),
  max_lease_ttl: z.number(),
  force_no_cache: z.boolean(),
  token_type: z.string().exactOptional(),
  audit_non_hmac_request_keys: texts,
  audit_non_hmac_response_keys: texts,
  listing_visibility: z.string().exactOptional(),
  passthrough_request_headers: texts,
  allowed_response_headers: texts,
  /** Kept for clients that compare what they wrote; without effect, like `delegated_auth_accessors`. */
  allowed_managed_keys: texts,
  delegated_auth_accessors: texts,
  /** A request whose path ends in `/` is served like the one without. */
  trim_request_trailing_slashes: z.boolean().exactOptional(),
  /** Absent if it was never tuned. */
  user_lockout_config: lockoutFields.exactOptional(),
  /** The named key that signs the identity tokens of the mount; absent: `default`. */
  identity_token_key: z.string().exactOptional(),
})
export type MountConfig = z.output<typeof configFields>

/** A pending move of a mount. */
const moveFields = z.object({
  id: z.string(),
  namespace: z.string(),
  path: z.string(),
  /** Full paths, including those of the namespaces. */
  source_mount: z.string(),
  target_mount: z.string(),
})
export type MountMove = Readonly<z.output<typeof moveFields>>

const mountFields = z.object({
  table: z.enum(['auth', 'secret']),
  /** Namespace id; `root` for the root namespace. */
  namespace: z.string(),
  /** Full path with trailing slash, relative to the namespace; auth mounts begin with `auth/`. */
  path: z.string(),
  type: z.string(),
  accessor: z.string(),
  uuid: z.string(),
  description: z.string(),
  config: configFields,
  options: z.record(z.string(), z.string()).nullable(),
  local: z.boolean(),
  seal_wrap: z.boolean(),
  external_entropy_access: z.boolean(),
  /** True while the mount is being removed: requests get 404. */
  tainted: z.boolean(),
  /** Set once the removal can no longer fail for what callers can change: its data is being deleted. */
  deleting: z.boolean().exactOptional(),
  /** Why the last removal failed. Only another call, or a start, tries again. */
  failure: z.string().exactOptional(),
  /** Number of moves; tokens issued before the last move are invalid. Not a time, because clocks may be set. */
  moves: z.number().default(0),
  /** Set from the acceptance of a move until it has ended; a start resumes an interrupted move. */
  moving: moveFields.exactOptional(),
})
export type MountOptions = z.output<typeof mountFields>['options']

/** `plugin`: the name of the plugin; several types may share one. */
export type Mount = Readonly<z.output<typeof mountFields>> & { readonly plugin: string }

/** A mount as it is stored. Keeps fields of later versions. */
export const storedMount: z.ZodType<z.output<typeof mountFields>> = mountFields
  .extend({
    config: configFields.extend({ user_lockout_config: lockoutFields.loose().exactOptional() }).loose(),
    moving: moveFields.loose().exactOptional(),
  })
  .loose()
