import { corePrefix, type ViewEntry, type ViewRecord } from '../barrier/view.ts'
import { type Mount, type MountOptions, type MountTable, storedMount } from './mount.ts'

/** Key prefix of the mount table: one record for each mount, by UUID. */
export const mountRecords = `${corePrefix}mounts/`

/**
 * The record of a mount, with a key relative to the storage root. It omits the plugin, which follows from the
 * type.
 */
export function mountEntry({ plugin, ...stored }: Mount): ViewEntry {
  return { key: mountRecords + stored.uuid, value: stored }
}

/** The records of new mounts, for a batch that also writes other records. */
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
