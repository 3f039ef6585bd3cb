import type { View } from '../barrier/view.ts'
import { behind } from '../records/key-level.ts'
import type { LeaseRef } from './lease.ts'
import { endedRows, readScheduled } from './lease-keys.ts'
import { firstRows } from './lease-lane.ts'
import type { LeaseRecords } from './lease-records.ts'

type Parts = { readonly view: View; readonly records: Pick<LeaseRecords, 'find'> }

/** Reads at most this many records of ended leases for each mount. */
const pageSize = 64

/**
 * How long the lease that was due first has been due at `now`, in milliseconds; 0 if none is. With many ended
 * leases it looks only at some of them.
 */
export async function leaseLagMs({ view, records }: Parts, now: number): Promise<number> {
  let first = now
  for await (const { prefix } of firstRows(view)) {
    const ended = await view.listKeys(prefix + endedRows, { limit: pageSize })
    const ends = await Promise.all(
      ended.map((key) => endOf(records, readScheduled(key.slice(prefix.length)))),
    )
    const [next] = await view.listKeys(prefix, { limit: 1, after: behind(prefix + endedRows) })
    first = Math.min(first, ...ends, next === undefined ? now : readScheduled(next.slice(prefix.length)).time)
  }
  return now - first
}

/** Rows of ended leases do not tell when they ended; their records do. */
async function endOf(records: Parts['records'], ref: LeaseRef): Promise<number> {
  return (await records.find(ref))?.expire_time ?? Number.POSITIVE_INFINITY
}
