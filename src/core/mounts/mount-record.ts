import { z } from 'zod'
import { corePrefix, type ViewEntry, type ViewRecord } from '../barrier/view.ts'
import type { Mount, MountOptions, MountTable } from './mount.ts'

/** Key prefix of the mount table: one record for each mount, by UUID. */
export const mountRecords = `${corePrefix}mounts/`

const texts = z.array(z.string()).exactOptional()

/** Keeps fields of later versions. */
const storedMount = z.looseObject({
  table: z.enum(['auth', 'secret']),
  namespace: z.string(),
  path: z.string(),
  type: z.string(),
  accessor: z.string(),
  uuid: z.string(),
  description: z.string(),
  config: z.looseObject({
    default_lease_ttl: z.number(),
    max_lease_ttl: z.number(),
    force_no_cache: z.boolean(),
    token_type: z.string().exactOptional(),
    audit_non_hmac_request_keys: texts,
    audit_non_hmac_response_keys: texts,
    listing_visibility: z.string().exactOptional(),
    passthrough_request_headers: texts,
    allowed_response_headers: texts,
    allowed_managed_keys: texts,
    delegated_auth_accessors: texts,
    trim_request_trailing_slashes: z.boolean().exactOptional(),
    user_lockout_config: z
      .looseObject({
        user_lockout_threshold: z.number(),
        user_lockout_duration: z.number(),
        user_lockout_counter_reset_duration: z.number(),
        user_lockout_disable: z.boolean(),
      })
      .exactOptional(),
    identity_token_key: z.string().exactOptional(),
  }),
  options: z.record(z.string(), z.string()).nullable(),
  local: z.boolean(),
  seal_wrap: z.boolean(),
  external_entropy_access: z.boolean(),
  tainted: z.boolean(),
  deleting: z.boolean().exactOptional(),
  failure: z.string().exactOptional(),
  moves: z.number().default(0),
  moving: z
    .looseObject({
      id: z.string(),
      namespace: z.string(),
      path: z.string(),
      source_mount: z.string(),
      target_mount: z.string(),
    })
    .exactOptional(),
})

/**
 * The record of a mount, with a key relative to the storage root. It omits the plugin, which follows from the
 * type.
 */
export function mountEntry({ plugin, ...stored }: Mount): ViewEntry {
  return { key: mountRecords + stored.uuid, value: stored }
}

/**
 * The records of new mounts, for a batch that also writes other records.
 */
export const entriesFor = (mounts: readonly Mount[]): ViewEntry[] =>
  mounts.map((mount) => ({ ...mountEntry(mount), expect: 'absent' }))

/**
 * Parses a stored mount, whose key is relative to `mountRecords`. `pluginOf` returns the plugin behind a type
 * with these options. Throws for an unknown format or type: the start must fail. docs/operations.md#what-a-damaged-store-does
 */
export function readMount(
  { key, value }: ViewRecord,
  pluginOf: (table: MountTable, type: string, options: MountOptions) => string | undefined,
): Mount {
  const stored = storedMount.safeParse(value)
  const plugin = stored.success
    ? pluginOf(stored.data.table, stored.data.type, stored.data.options)
    : undefined
  if (!stored.success || plugin === undefined || stored.data.uuid !== key) {
    throw new Error(
      `the mount table cannot be read: record ${mountRecords}${key} is not a mount that this version can read`,
    )
  }
  return { ...stored.data, plugin }
}
