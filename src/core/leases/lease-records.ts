import { fail } from '../../errors.ts'
import type { View, ViewEntry } from '../barrier/view.ts'
import { writeAttempts } from '../stored-record.ts'
import { isIrrevocable, type Lease, type LeaseRef, readLease } from './lease.ts'
import { leaseKey, ownerKeys, scheduledAt, scheduleKey } from './lease-keys.ts'

/** A lease, and its record's revision. */
export type StoredLease = { readonly lease: Lease; readonly revision: number }

/** Told of what changed, once it is durable. */
export type LeaseWatch = {
  added(key: string): void
  removed(key: string): void
  /** A lease of this mount is to be worked on at that time. */
  scheduled(mountAccessor: string, at: number): void
}

/** Leases as stored: the record and its rows always change in one write, on condition that nobody else has changed it. */
export class LeaseRecords {
  readonly #view: View
  readonly #watch: LeaseWatch

  constructor(view: View, watch: LeaseWatch) {
    this.#view = view
    this.#watch = watch
  }

  async find(ref: LeaseRef): Promise<Lease | undefined> {
    return (await this.read(ref))?.lease
  }

  async read(ref: LeaseRef): Promise<StoredLease | undefined> {
    const stored = await this.#view.read(leaseKey(ref))
    return stored && { lease: readLease(stored.value), revision: stored.revision }
  }

  /** `alongside` is written in the same step. */
  async add(lease: Lease, alongside: readonly ViewEntry[] = []): Promise<void> {
    if (!(await this.#view.write([...entriesOf(lease), ...alongside])))
      throw fail('internal', 'internal error', { cause: new Error('a lease id was given twice') })
    this.#watch.added(leaseKey(lease))
    this.#noteSchedule(lease)
  }

  /** Whether an `add` that failed is stored all the same; then it counts. */
  async isStored(lease: Lease): Promise<boolean> {
    if ((await this.read(lease)) === undefined) return false
    this.#watch.added(leaseKey(lease))
    this.#noteSchedule(lease)
    return true
  }

  /** `change` may run again; it gives undefined to leave the lease as it is. Gives back what is stored then; undefined when there is no such lease. */
  async change(ref: LeaseRef, change: (lease: Lease) => Lease | undefined): Promise<Lease | undefined> {
    const key = leaseKey(ref)
    for (let attempt = 0; attempt < writeAttempts; attempt += 1) {
      const stored = await this.read(ref)
      if (stored === undefined) return undefined
      const before = stored.lease
      const after = change(before)
      if (after === undefined) return before
      const entries: ViewEntry[] = [{ key, value: after, expect: stored.revision }, scheduleRow(after)]
      if (scheduleKey(before) !== scheduleKey(after)) entries.push({ key: scheduleKey(before), value: undefined })
      if (!(await this.#view.write(entries))) continue
      this.#noteSchedule(after)
      return after
    }
    throw tooManyChanges()
  }

  /**
   * Deletes the lease whatever it is by now. `seen` is how it was a moment ago, if that is known; `alongside`
   * is written in the same step.
   */
  async remove(ref: LeaseRef, seen?: StoredLease, alongside: readonly ViewEntry[] = []): Promise<void> {
    const key = leaseKey(ref)
    for (let attempt = 0; attempt < writeAttempts; attempt += 1) {
      const stored = attempt === 0 && seen !== undefined ? seen : await this.read(ref)
      if (stored === undefined) return
      const { lease, revision } = stored
      const entries: ViewEntry[] = [
        { key, value: undefined, expect: revision },
        { key: scheduleKey(lease), value: undefined },
      ]
      for (const row of ownerKeys(lease)) entries.push({ key: row, value: undefined })
      if (!(await this.#view.write([...entries, ...alongside]))) continue
      this.#watch.removed(key)
      return
    }
    throw tooManyChanges()
  }

  #noteSchedule(lease: Lease): void {
    if (!isIrrevocable(lease)) this.#watch.scheduled(lease.mount_accessor, scheduledAt(lease))
  }
}

/** A new lease, to be written as one. */
export function entriesOf(lease: Lease): ViewEntry[] {
  const owners = ownerKeys(lease).map((key) => ({ key, value: true }))
  return [{ key: leaseKey(lease), value: lease, expect: 'absent' }, scheduleRow(lease), ...owners]
}

const tooManyChanges = () => fail('unavailable', 'too many changes to one lease at a time')

/** The row of an irrevocable lease holds what lists show of it. */
const scheduleRow = (lease: Lease): ViewEntry => ({
  key: scheduleKey(lease),
  value: isIrrevocable(lease) ? { mount_accessor: lease.mount_accessor, error: lease.revoke_error } : true,
})
