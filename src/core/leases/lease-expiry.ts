import { setTimeout as pause, setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import type { View } from '../barrier/view.ts'
import { isUnreadable } from '../stored-record.ts'
import { hasEnded } from './lease.ts'
import {
  duePrefix,
  irrevocablePrefix,
  lanePrefix,
  readScheduled,
  retryPrefix,
  scheduleKey,
} from './lease-keys.ts'
import { type DueRow, findLanes, LeaseLane } from './lease-lane.ts'
import type { LeaseRecords } from './lease-records.ts'
import { type LeaseRevoker, RevocationFailure } from './lease-revoker.ts'
import { afterFailure } from './retry.ts'
import { noSlots, WorkerPool } from './worker-pool.ts'

export type LeaseExpiryParts = {
  readonly view: View
  readonly records: LeaseRecords
  readonly revoker: LeaseRevoker
  readonly clock: Clock
  readonly random: Random
  /** Called for failures of the server itself. Failures of engines are stored with the lease. */
  onError(error: unknown): void
  /** Called for each lease that becomes irrevocable. */
  onIrrevocable(lease: { id: string; revoke_error?: string }): void
}

/** Maximum time between two reads of the clock, which may be set. */
const maxPauseMs = 10_000
/** Limits the rate of revocations: 10,000 leases start within 5 s, and requests keep most of the CPU. */
const minMsPerLease = 0.45
/** A larger backward step means that the clock was set. */
const setBackMs = 60_000
/** Delay after a failure of the server itself. */
const holdMs = 60_000
const dayMs = 24 * 3600 * 1000
/** The daily retry covers irrevocable leases that ended at least this long ago. */
const minAgeMs = 3600 * 1000
const pageSize = 64

/**
 * Revokes leases when they expire, with retries and fairly between mounts. One timer serves all leases.
 * docs/contract/leases.md#retries
 */
export class LeaseExpiry implements AsyncDisposable {
  readonly #parts: LeaseExpiryParts
  readonly #lanes = new Map<string, LeaseLane>()
  readonly #pool = new WorkerPool()
  readonly #dailySlots = noSlots()
  /** Earliest start of the next page, on the clock of `performance.now()`. */
  #nextPage = 0
  #timer: NodeJS.Timeout | undefined
  #timerAt = Number.POSITIVE_INFINITY
  #started = false
  #stopped = false
  #starting: Promise<void> | undefined
  #daily: Promise<void> | undefined
  #nextDaily: number
  #seenAt = 0

  constructor(parts: LeaseExpiryParts) {
    this.#parts = parts
    this.#nextDaily = parts.clock.now() + dayMs
  }

  /** Starts in the background; immediately retries revocations that failed before the restart. */
  start(): void {
    this.#started = true
    this.#begin().catch((error: unknown) => this.#parts.onError(error))
  }

  /** Processes all leases that are due now and waits for them. */
  async run(): Promise<void> {
    await this.#begin()
    this.#wake()
    await this.#settled()
  }

  /** Marks the leases that are due as ended, so that they remain due if the clock is set back. */
  async endDue(): Promise<void> {
    const { view, records, clock } = this.#parts
    const now = clock.now()
    for (const accessor of await findLanes(view)) {
      const prefix = lanePrefix(duePrefix, accessor)
      for (let after: string | undefined; !this.#stopped; await nextTurn()) {
        const page: string[] = await view.listKeys(prefix, {
          limit: pageSize,
          ...(after === undefined ? {} : { after }),
        })
        const due = page
          .map((key) => ({ key, ...readScheduled(key.slice(prefix.length)) }))
          .filter(({ time }) => time <= now)
        await Promise.all(
          due.map((row) =>
            records
              .change(row, (lease) =>
                hasEnded(lease, now) && lease.ended !== true ? { ...lease, ended: true } : undefined,
              )
              .catch((error: unknown) => this.#reportUnreadable(error)),
          ),
        )
        after = due.at(-1)?.key
        if (due.length < pageSize) break
      }
    }
  }

  /** Reports that a lease of this mount is due at that time. */
  scheduled(mountAccessor: string, at: number): void {
    this.#lane(mountAccessor).wakeAt(at)
    this.#arm(at)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    this.#parts.revoker.stop()
    await this.#starting?.catch(() => undefined)
    await this.#settled()
  }

  /**
   * Makes retries due at the first call and after the clock was set back, since they would wait too long.
   * Other calls do nothing.
   */
  #begin(): Promise<void> {
    const now = this.#parts.clock.now()
    if (now < this.#seenAt - setBackMs) this.#starting = undefined
    this.#seenAt = now
    this.#starting ??= this.#resume().catch((error: unknown) => {
      this.#starting = undefined
      this.#arm(this.#parts.clock.now() + holdMs)
      throw error
    })
    return this.#starting
  }

  /** Resets the failure counters and starts the lanes: failures are counted per run of the process. */
  async #resume(): Promise<void> {
    const { view, records } = this.#parts
    for (let after: string | undefined; !this.#stopped; await nextTurn()) {
      const page: string[] = await view.listKeys(retryPrefix, {
        limit: pageSize,
        ...(after === undefined ? {} : { after }),
      })
      const changes = page.map((key) =>
        records.change(refOf(key), (lease) => (lease.retry ? { ...lease, retry: undefined } : undefined)),
      )
      await Promise.all(
        changes.map((change) => change.catch((error: unknown) => this.#reportUnreadable(error))),
      )
      after = page.at(-1)
      if (after === undefined) break
    }
    for (const accessor of await findLanes(view)) this.#lane(accessor)
    this.#wake()
  }

  /** Reports an unreadable record, which is then skipped. Rethrows other errors. */
  #reportUnreadable(error: unknown): void {
    if (!isUnreadable(error)) throw error
    this.#parts.onError(error)
  }

  #lane(accessor: string): LeaseLane {
    const known = this.#lanes.get(accessor)
    if (known !== undefined) return known
    const lane = new LeaseLane(this.#parts.view, accessor)
    this.#lanes.set(accessor, lane)
    return lane
  }

  #wake(): void {
    if (this.#stopped) return
    const now = this.#parts.clock.now()
    for (const lane of this.#lanes.values()) {
      if (lane.next <= now) lane.running ??= this.#work(lane)
    }
    if (this.#nextDaily <= now) {
      this.#nextDaily = now + dayMs
      this.#daily ??= this.#retryIrrevocable(now)
    }
    this.#arm(
      Math.min(
        this.#nextDaily,
        ...[...this.#lanes.values()].filter((lane) => lane.running === undefined).map((lane) => lane.next),
      ),
    )
  }

  #arm(at: number): void {
    if (!this.#started || this.#stopped || at >= this.#timerAt) return
    clearTimeout(this.#timer)
    this.#timerAt = at
    const delay = Math.min(Math.max(at - this.#parts.clock.now(), 0), maxPauseMs)
    this.#timer = setTimeout(() => {
      this.#timerAt = Number.POSITIVE_INFINITY
      this.#begin().then(
        () => this.#wake(),
        (error: unknown) => this.#parts.onError(error),
      )
    }, delay)
    this.#timer.unref()
  }

  async #settled(): Promise<void> {
    for (;;) {
      const work = [...this.#lanes.values()]
        .flatMap((lane) => [lane.running ?? [], ...lane.attempts].flat())
        .concat(this.#daily ?? [])
      if (work.length === 0) return
      await Promise.all(work)
    }
  }

  /** Starts the due revocations of a lane as slots become free; does not wait for engines. */
  async #work(lane: LeaseLane): Promise<void> {
    try {
      while (!this.#stopped) {
        const rows = await lane.due(this.#parts.clock.now())
        if (rows.length === 0) break
        this.#nextPage = Math.max(this.#nextPage, performance.now()) + rows.length * minMsPerLease
        const pageEnd = this.#nextPage
        for (const row of rows) this.#start(lane, row, await this.#pool.acquire(lane.slots))
        await pause(Math.max(0, pageEnd - performance.now()))
      }
    } catch (error) {
      this.#parts.onError(error)
      lane.wakeAt(this.#parts.clock.now() + holdMs)
    }
    lane.running = undefined
    this.#wake()
  }

  #start(lane: LeaseLane, row: DueRow, release: () => void): void {
    lane.hold(row.key)
    const attempt = this.#attempt(row)
      .then(
        () => lane.release(row.key),
        (error: unknown) => {
          this.#parts.onError(error)
          lane.hold(row.key, this.#parts.clock.now() + holdMs)
          this.#arm(lane.next)
        },
      )
      .finally(() => {
        lane.attempts.delete(attempt)
        release()
      })
    lane.attempts.add(attempt)
  }

  async #attempt(row: DueRow): Promise<void> {
    if (this.#stopped) return
    const { records, revoker, clock, random, view, onIrrevocable } = this.#parts
    let found = false
    try {
      await revoker.revoke(row, (lease) => {
        found = true
        return scheduleKey(lease) === row.key
      })
      // the row has no lease
      if (!found && (await records.find(row)) === undefined)
        await view.write([{ key: row.key, value: undefined }])
    } catch (error) {
      if (!(error instanceof RevocationFailure)) throw error
      if (this.#stopped) return
      const [byte = 0] = random.bytes(1)
      let isNew = false
      // count each failed call once: if the lease was rescheduled in the meantime, its new row counts it
      const after = await records.change(row, (lease) => {
        isNew = scheduleKey(lease) === row.key
        return isNew ? afterFailure(lease, error.cause, clock.now(), byte / 255) : undefined
      })
      if (isNew && after?.revoke_error !== undefined) onIrrevocable(after)
    }
  }

  /**
   * Retries, once a day, irrevocable leases that ended more than an hour ago. docs/contract/leases.md#retries
   */
  async #retryIrrevocable(now: number): Promise<void> {
    try {
      for (let after: string | undefined; !this.#stopped; await nextTurn()) {
        const page = await this.#parts.view.listKeys(irrevocablePrefix, {
          limit: pageSize,
          ...(after === undefined ? {} : { after }),
        })
        const old = page.filter(
          (key) => readScheduled(key.slice(irrevocablePrefix.length)).time < now - minAgeMs,
        )
        await Promise.all(old.map((key) => this.#retry(key)))
        after = old.at(-1)
        if (after === undefined) break
      }
    } catch (error) {
      this.#parts.onError(error)
    }
    this.#daily = undefined
  }

  async #retry(key: string): Promise<void> {
    const release = await this.#pool.acquire(this.#dailySlots)
    try {
      await this.#parts.revoker.revoke(
        readScheduled(key.slice(irrevocablePrefix.length)),
        (lease) => scheduleKey(lease) === key,
      )
    } catch (error) {
      if (!(error instanceof RevocationFailure)) this.#reportUnreadable(error)
    } finally {
      release()
    }
  }
}

const refOf = (retryKey: string) =>
  readScheduled(retryKey.slice(retryKey.indexOf('/', retryPrefix.length) + 1))
