import { ServiceError } from '../../errors.ts'
import type { SharedStorage } from '../../storage/shared-storage.ts'
import type { View, ViewEntry, ViewRecord } from '../barrier/view.ts'
import type { Write } from '../records/change.ts'
import { FollowedRecords } from '../records/followed-records.ts'
import { GuardedChanges } from '../records/guarded-changes.ts'
import type { Mount } from './mount.ts'
import { fixedPaths } from './mount-path.ts'
import { mountEntry, mountRecords, readMount } from './mount-record.ts'
import { MountIndex } from './mount-table.ts'
import type { MountTypeRegistry } from './mount-type-registry.ts'

export type MountRecordsParts = {
  /** The storage root. */
  readonly view: View
  readonly shared: SharedStorage | undefined
  readonly types: MountTypeRegistry
  /** Called for a record that another server has written and that cannot be read. */
  onUnreadable(error: unknown): void
}

export type MountChange = { readonly changed: readonly Mount[]; readonly removed: readonly Mount[] }

type ChangeListener = (change: MountChange) => void | Promise<void>

/** Writes changed and removed mounts, together with other records, whose keys are relative to the root. */
export type SaveMounts = (change: Partial<MountChange>, also?: readonly ViewEntry[]) => Promise<void>

/** Decides on a change of mounts and writes it, once at most. */
export type DecideMounts<T> = (save: SaveMounts, table: MountIndex) => Promise<T>

/**
 * The stored mounts and the table of them in memory. Each change is written in one atomic step before it
 * becomes visible, so a reader sees the table before or after it. Follows the changes of other servers.
 */
export class MountRecords {
  readonly #parts: MountRecordsParts
  readonly #followed: FollowedRecords
  readonly #changes: GuardedChanges
  readonly #listeners: ChangeListener[] = []
  #table = new MountIndex([])

  private constructor(parts: MountRecordsParts) {
    this.#parts = parts
    const view = parts.view.view('', { numbers: 'plain' })
    this.#followed = new FollowedRecords({
      view,
      prefix: mountRecords,
      onFailure: parts.onUnreadable,
      known: () => this.#table.all().map(({ uuid }) => mountRecords + uuid),
      apply: (records, gone) => this.#follow(records, gone),
    })
    this.#changes = new GuardedChanges({
      view,
      shared: parts.shared,
      key: 'core/guard/mounts',
      followed: this.#followed,
    })
  }

  /**
   * Reads the stored table. Rejects if a record is unreadable or the fixed mounts are missing: the start must
   * fail.
   */
  static async open(parts: MountRecordsParts): Promise<MountRecords> {
    const records = new MountRecords(parts)
    await records.#followed.follow(async () => {
      const stored = await parts.view.view('', { numbers: 'plain' }).list(mountRecords)
      records.#table = new MountIndex(stored.map((record) => records.#read(record)))
    })
    if (records.#table.at('root', fixedPaths.system) === undefined)
      throw new Error('the mount table cannot be read: there is no sys/ in it')
    return records
  }

  get table(): MountIndex {
    return this.#table
  }

  /** Calls `listener` after each change, by any server. */
  onChange(listener: ChangeListener): void {
    this.#listeners.push(listener)
  }

  /**
   * Changes mounts. No other server changes a mount or creates or removes a namespace between the beginning
   * of `decide` and its one write. `decide` may run again.
   */
  change<T>(decide: DecideMounts<T>): Promise<T> {
    return this.#changes.run((write) => {
      const save: SaveMounts = (change, also = []) =>
        this.#save({ changed: [], removed: [], ...change }, also, write)
      return decide(save, this.#table)
    })
  }

  ended(): Promise<void> {
    return this.#changes.ended()
  }

  async #save(change: MountChange, also: readonly ViewEntry[], write: Write): Promise<void> {
    const keys = [...change.changed, ...change.removed].map(({ uuid }) => mountRecords + uuid)
    try {
      await write([
        ...change.changed.map(mountEntry),
        ...change.removed.map(({ uuid }) => ({ key: mountRecords + uuid, value: undefined })),
        ...also,
      ])
    } catch (error) {
      // The write may have been stored, and the path of a mount must not be reused. If the record cannot be
      // read either, keep the table; the next start reads it again.
      if (error instanceof ServiceError) await this.#followed.reread(keys).catch(() => undefined)
      throw error
    }
    await this.#apply(change)
  }

  async #follow(records: readonly ViewRecord[], gone: readonly string[]): Promise<void> {
    const changed = records.flatMap((record) => {
      try {
        return [this.#read(record)]
      } catch (error) {
        this.#parts.onUnreadable(error)
        return []
      }
    })
    const removed = gone.flatMap((key) => this.#table.byUuid(key.slice(mountRecords.length)) ?? [])
    await this.#apply({ changed, removed })
  }

  async #apply(change: MountChange): Promise<void> {
    this.#table = this.#table.with(change.changed, change.removed)
    for (const listener of this.#listeners) await listener(this.#current(change))
  }

  /** While a listener was at work, another server may have changed the mounts once more. */
  #current({ changed, removed }: MountChange): MountChange {
    return {
      changed: changed.flatMap(({ uuid }) => this.#table.byUuid(uuid) ?? []),
      removed: removed.filter(({ uuid }) => this.#table.byUuid(uuid) === undefined),
    }
  }

  #read({ key, value, revision }: ViewRecord): Mount {
    const { types } = this.#parts
    return readMount({ key: key.slice(mountRecords.length), value, revision }, (table, type, options) =>
      types.pluginOf(table, type, options),
    )
  }
}
