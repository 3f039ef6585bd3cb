import { fail } from '../../errors.ts'
import type { View, ViewEntry } from '../barrier/view.ts'
import { Changes } from '../records/change.ts'
import { ifReadable } from '../records/stored-record.ts'
import { isIrrevocable, type Lease, type LeaseRef, readLease } from './lease.ts'
import { leaseKey, leasePrefix, ownerKeys, readRef, scheduledAt, scheduleKey } from './lease-keys.ts'

/** A lease and the revision of its record. */
export type StoredLease = { readonly lease: Lease; readonly revision: number }

/** Called once it is durable that a lease of this mount is due at that time. */
type OnScheduled = (mountAccessor: string, at: number) => void

/**
 * Stores leases. Changes a record and its rows in one write, which fails if the record has changed in the
 * meantime.
 */
export class LeaseRecords {
  readonly #view: View
  readonly #onScheduled: OnScheduled
  /** By storage key. */
  readonly #changes: Changes

  constructor(view: View, onScheduled: OnScheduled) {
    this.#view = view
    this.#onScheduled = onScheduled
    this.#changes = new Changes({ view, tooMany: 'too many changes to one lease at a time' })
  }

  async find(ref: LeaseRef): Promise<Lease | undefined> {
    return (await this.read(ref))?.lease
  }

  async read(ref: LeaseRef): Promise<StoredLease | undefined> {
    const stored = await this.#view.read(leaseKey(ref))
    return stored && { lease: readLease(stored.value), revision: stored.revision }
  }

  /** All leases, in pages. Skips records that cannot be read. */
  async *pages(): AsyncGenerator<Lease[]> {
    for await (const page of this.#view.keyPages(leasePrefix)) {
      const refs = page.map((key) => readRef(key.slice(leasePrefix.length)))
      const leases = await Promise.all(refs.map((ref) => ifReadable(this.find(ref))))
      yield leases.filter((lease) => lease !== undefined)
    }
  }

  /** Stores a new lease, with `alongside` in the same write. */
  async add(lease: Lease, alongside: readonly ViewEntry[] = []): Promise<void> {
    if (!(await this.#view.write([...entriesOf(lease), ...alongside])))
      throw fail('internal', 'internal error', { cause: new Error('a lease id was given twice') })
    this.#noteSchedule(lease)
  }

  /** Whether a failed `add` was stored after all; if so, reports when it is due. */
  async isStored(lease: Lease): Promise<boolean> {
    if ((await this.read(lease)) === undefined) return false
    this.#noteSchedule(lease)
    return true
  }

  /**
   * Changes a lease and returns the stored one; undefined if there is no such lease. `change` may be called
   * again; it returns undefined to leave the lease unchanged. Throws `unavailable` after too many conflicts.
   */
  change(ref: LeaseRef, change: (lease: Lease) => Lease | undefined): Promise<Lease | undefined> {
    const key = leaseKey(ref)
    return this.#changes.run(key, async (write) => {
      const stored = await this.read(ref)
      if (stored === undefined) return undefined
      const before = stored.lease
      const after = change(before)
      if (after === undefined) return before
      const entries: ViewEntry[] = [{ key, value: after, expect: stored.revision }, scheduleRow(after)]
      if (scheduleKey(before) !== scheduleKey(after))
        entries.push({ key: scheduleKey(before), value: undefined })
      await write(entries)
      this.#noteSchedule(after)
      return after
    })
  }

  /**
   * Deletes the lease, even if it has changed since `seen` was read. Writes `alongside` in the same write.
   */
  remove(ref: LeaseRef, seen?: StoredLease, alongside: readonly ViewEntry[] = []): Promise<void> {
    const key = leaseKey(ref)
    let known = seen
    return this.#changes.run(key, async (write) => {
      const stored = known ?? (await this.read(ref))
      known = undefined
      if (stored === undefined) return
      const { lease, revision } = stored
      const entries: ViewEntry[] = [
        { key, value: undefined, expect: revision },
        { key: scheduleKey(lease), value: undefined },
      ]
      for (const row of ownerKeys(lease)) entries.push({ key: row, value: undefined })
      await write([...entries, ...alongside])
    })
  }

  #noteSchedule(lease: Lease): void {
    if (!isIrrevocable(lease)) this.#onScheduled(lease.mount_accessor, scheduledAt(lease))
  }
}

/** The entries of a new lease, for one write. */
export function entriesOf(lease: Lease): ViewEntry[] {
  const owners = ownerKeys(lease).map((key) => ({ key, value: true }))
  return [{ key: leaseKey(lease), value: lease, expect: 'absent' }, scheduleRow(lease), ...owners]
}

/** The row of an irrevocable lease contains the fields that lists show. */
const scheduleRow = (lease: Lease): ViewEntry => ({
  key: scheduleKey(lease),
  value: isIrrevocable(lease) ? { mount_accessor: lease.mount_accessor, error: lease.revoke_error } : true,
})
