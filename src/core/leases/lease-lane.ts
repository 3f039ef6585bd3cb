import type { View } from '../barrier/view.ts'
import { behind, foldersOf } from '../records/key-level.ts'
import type { LeaseRef } from './lease.ts'
import { endedRows, lanePrefix, lanes, readScheduled } from './lease-keys.ts'
import type { LeaseRecords } from './lease-records.ts'
import { noSlots } from './worker-pool.ts'

/** A row of the schedule that is due. */
export type DueRow = LeaseRef & { readonly key: string }

/** Rows of one mount that are read at once. */
const pageSize = 64

/** The schedule of one mount's leases, ordered by time. */
export class LeaseLane {
  /** Time of the next known work. */
  next = 0
  /** Set while the schedule is being read. */
  running: Promise<void> | undefined
  /** Revocations in progress. */
  readonly attempts = new Set<Promise<void>>()
  readonly slots = noSlots()
  readonly #view: View
  readonly #prefixes: readonly string[]
  /**
   * Rows in progress, and rows on which the server itself failed, with the earliest time of another attempt.
   */
  readonly #held = new Map<string, number>()

  constructor(view: View, mountAccessor: string) {
    this.#view = view
    this.#prefixes = lanes.map((lane) => lanePrefix(lane, mountAccessor))
  }

  /** A page of rows that are due and not held; empty only if there are none. */
  async due(now: number): Promise<DueRow[]> {
    for (const [key, until] of this.#held) if (until <= now) this.#held.delete(key)
    this.next = Number.POSITIVE_INFINITY
    const due: DueRow[] = []
    for (const prefix of this.#prefixes) {
      for (const key of await this.#view.listKeys(prefix, { limit: pageSize + this.#held.size })) {
        const { time, ...ref } = readScheduled(key.slice(prefix.length))
        const until = this.#held.get(key)
        if (until === undefined && time <= now) due.push({ key, ...ref })
        else this.wakeAt(Math.max(time, until ?? 0))
        if (time > now) break
      }
    }
    return due
  }

  wakeAt(time: number): void {
    if (time < this.next) this.next = time
  }

  /** Hides a row from `due` until `release` is called or until that time. */
  hold(key: string, until = Number.POSITIVE_INFINITY): void {
    this.#held.set(key, until)
    this.wakeAt(until)
  }

  release(key: string): void {
    this.#held.delete(key)
  }
}

/**
 * The mounts that have leases in the schedule, with the time of the first one; found with one read per mount.
 */
export async function findLanes(view: View): Promise<Map<string, number>> {
  const firstByMount = new Map<string, number>()
  for await (const { accessor, key, prefix } of firstRows(view)) {
    const { time } = readScheduled(key.slice(prefix.length))
    firstByMount.set(accessor, Math.min(time, firstByMount.get(accessor) ?? time))
  }
  return firstByMount
}

/** The first row of each mount in each lane. */
async function* firstRows(view: View): AsyncGenerator<{ accessor: string; key: string; prefix: string }> {
  for (const lane of lanes)
    for await (const { name, key } of foldersOf(view, lane))
      yield { accessor: name, key, prefix: lanePrefix(lane, name) }
}

type LagParts = { readonly view: View; readonly records: Pick<LeaseRecords, 'find'> }

/**
 * How long the lease that was due first has been due at `now`, in milliseconds; 0 if none is. With many ended
 * leases it looks only at some of them.
 */
export async function leaseLagMs({ view, records }: LagParts, now: number): Promise<number> {
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
async function endOf(records: LagParts['records'], ref: LeaseRef): Promise<number> {
  return (await records.find(ref))?.expire_time ?? Number.POSITIVE_INFINITY
}
