import { setTimeout as pause } from 'node:timers/promises'
import { untilAborted, wait } from '../../lib/concurrency/wait.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { Random } from '../../lib/system/random.ts'
import type { View } from '../barrier/view.ts'
import type { BackgroundJob, Held } from '../jobs/jobs.ts'
import { isUnreadable } from '../records/stored-record.ts'
import { hasEnded, type Lease, type LeaseRef } from './lease.ts'
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
  readonly job: BackgroundJob
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
/** How often the holder of the job looks for leases of other servers: they are revoked about a second late. */
const lookMs = 1_000
/** A look takes longer with many mounts. It may take this part of the time. */
const lookShare = 10

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
  readonly #stopping = new AbortController()
  /** Undefined while another server revokes leases. */
  #held: Held | undefined
  #starting: Promise<void> | undefined
  #daily: Promise<void> | undefined
  #nextDaily: number
  #seenAt = 0

  constructor(parts: LeaseExpiryParts) {
    this.#parts = parts
    this.#nextDaily = parts.clock.now() + dayMs
  }

  /**
   * Revokes leases until the job ends. Immediately retries revocations that failed before this server took
   * the job.
   */
  async work(held: Held): Promise<void> {
    const ended = AbortSignal.any([held.ended, this.#stopping.signal])
    this.#held = held
    this.#starting = undefined
    // other servers have changed the schedule
    this.#lanes.clear()
    this.#begin().catch((error: unknown) => this.#report(error))
    if (this.#parts.job.isShared) await this.#look(ended)
    else await untilAborted(ended)
    clearTimeout(this.#timer)
    this.#timerAt = Number.POSITIVE_INFINITY
    await this.#settled()
    this.#held = undefined
  }

  /** Processes all leases that are due now and waits for them. */
  async run(): Promise<void> {
    await this.#begin()
    this.#wake()
    await this.#settled()
  }

  /** Marks the leases that are due as ended, so that they remain due if the clock is set back. */
  async endDue(): Promise<void> {
    const { view, clock } = this.#parts
    const now = clock.now()
    for (const accessor of (await findLanes(view)).keys()) {
      const prefix = lanePrefix(duePrefix, accessor)
      for await (const page of view.keyPages(prefix)) {
        const due = page
          .map((key) => readScheduled(key.slice(prefix.length)))
          .filter(({ time }) => time <= now)
        await this.#changeAll(due, (lease) =>
          hasEnded(lease, now) && lease.ended !== true ? { ...lease, ended: true } : undefined,
        )
        if (this.#isOver || due.length < page.length) break
      }
    }
  }

  /** Finds the leases that other servers have scheduled. */
  async #look(ended: AbortSignal): Promise<void> {
    let failed = false
    while (!ended.aborted) {
      const began = performance.now()
      try {
        for (const [accessor, first] of await findLanes(this.#parts.view)) this.#lane(accessor).wakeAt(first)
        this.#wake()
        failed = false
      } catch (error) {
        if (!failed) this.#report(error)
        failed = true
      }
      await wait(Math.max(lookMs, lookShare * (performance.now() - began)), ended)
    }
  }

  /** Runs work as a part of the job, whoever asked for it. */
  #inJob<T>(work: () => Promise<T>): Promise<T> {
    return this.#held === undefined ? work() : this.#held.run(work)
  }

  /** Whether the work must end. */
  get #isOver(): boolean {
    return this.#stopping.signal.aborted || this.#held?.ended.aborted === true
  }

  /** A job that has ended fails because of that. */
  #report(error: unknown): void {
    if (!this.#isOver) this.#parts.onError(error)
  }

  /** Reports that a lease of this mount is due at that time. */
  scheduled(mountAccessor: string, at: number): void {
    this.#lane(mountAccessor).wakeAt(at)
    this.#arm(at)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    clearTimeout(this.#timer)
    this.#parts.revoker.stop()
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
    this.#starting ??= this.#inJob(() => this.#resume()).catch((error: unknown) => {
      this.#starting = undefined
      this.#arm(this.#parts.clock.now() + holdMs)
      throw error
    })
    return this.#starting
  }

  /** Resets the failure counters and starts the lanes: failures are counted since this server took the job. */
  async #resume(): Promise<void> {
    const { view } = this.#parts
    for await (const page of view.keyPages(retryPrefix)) {
      await this.#changeAll(page.map(refOf), (lease) =>
        lease.retry ? { ...lease, retry: undefined } : undefined,
      )
      if (this.#isOver) break
    }
    for (const accessor of (await findLanes(view)).keys()) this.#lane(accessor)
    this.#wake()
  }

  /** Changes some leases. Skips unreadable ones. */
  async #changeAll(refs: readonly LeaseRef[], change: (lease: Lease) => Lease | undefined): Promise<void> {
    const changes = refs.map((ref) => this.#parts.records.change(ref, change))
    await Promise.all(changes.map((done) => done.catch((error: unknown) => this.#reportUnreadable(error))))
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
    if (this.#isOver) return
    const now = this.#parts.clock.now()
    for (const lane of this.#lanes.values()) {
      if (lane.next <= now) lane.running ??= this.#inJob(() => this.#work(lane))
    }
    if (this.#nextDaily <= now) {
      this.#nextDaily = now + dayMs
      this.#daily ??= this.#inJob(() => this.#retryIrrevocable(now))
    }
    this.#arm(
      Math.min(
        this.#nextDaily,
        ...[...this.#lanes.values()].filter((lane) => lane.running === undefined).map((lane) => lane.next),
      ),
    )
  }

  #arm(at: number): void {
    if (this.#held === undefined || this.#isOver || at >= this.#timerAt) return
    clearTimeout(this.#timer)
    this.#timerAt = at
    const delay = Math.min(Math.max(at - this.#parts.clock.now(), 0), maxPauseMs)
    this.#timer = setTimeout(() => {
      this.#timerAt = Number.POSITIVE_INFINITY
      this.#begin().then(
        () => this.#wake(),
        (error: unknown) => this.#report(error),
      )
    }, delay)
    this.#timer.unref()
  }

  async #settled(): Promise<void> {
    await this.#starting?.catch(() => undefined)
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
      while (!this.#isOver) {
        const rows = await lane.due(this.#parts.clock.now())
        if (rows.length === 0) break
        this.#nextPage = Math.max(this.#nextPage, performance.now()) + rows.length * minMsPerLease
        const pageEnd = this.#nextPage
        for (const row of rows) this.#start(lane, row, await this.#pool.acquire(lane.slots))
        await pause(Math.max(0, pageEnd - performance.now()))
      }
      this.#parts.job.ran('ok')
    } catch (error) {
      this.#parts.job.ran('failed')
      this.#report(error)
      lane.wakeAt(this.#parts.clock.now() + holdMs)
    }
    lane.running = undefined
    this.#wake()
  }

  #start(lane: LeaseLane, row: DueRow, release: () => void): void {
    const rows = [row.key]
    const hold = (key: string) => {
      rows.push(key)
      lane.hold(key)
    }
    lane.hold(row.key)
    const attempt = this.#attempt(row, hold)
      .then(
        () => {
          for (const key of rows) lane.release(key)
        },
        (error: unknown) => {
          this.#report(error)
          for (const key of rows) lane.hold(key, this.#parts.clock.now() + holdMs)
          this.#arm(lane.next)
        },
      )
      .finally(() => {
        lane.attempts.delete(attempt)
        release()
      })
    lane.attempts.add(attempt)
  }

  /** `hold` hides another row of the same lease from the lane. */
  async #attempt(due: DueRow, hold: (key: string) => void): Promise<void> {
    if (this.#isOver) return
    const { records, revoker, clock, random, view, job, onIrrevocable } = this.#parts
    const row = job.isShared ? await this.#markEnded(due, hold) : due
    let found = false
    try {
      const isAsRead = (lease: Lease) => {
        found = true
        return scheduleKey(lease) === row.key
      }
      await revoker.revoke(row, isAsRead, this.#held?.ended)
      // the row has no lease
      if (!found && (await records.find(row)) === undefined)
        await view.write([{ key: row.key, value: undefined }])
    } catch (error) {
      if (!(error instanceof RevocationFailure)) throw error
      if (this.#isOver) return
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
   * Stores that the lease has ended, before its engine is called: from then on no server renews it, and
   * another server repeats the call if this one stops. Returns the row of the lease.
   */
  async #markEnded(row: DueRow, hold: (key: string) => void): Promise<DueRow> {
    let key = row.key
    await this.#parts.records.change(row, (lease) => {
      key = row.key
      if (scheduleKey(lease) !== row.key || lease.ended === true) return undefined
      const marked: Lease = { ...lease, ended: true }
      key = scheduleKey(marked)
      hold(key)
      return marked
    })
    return { ...row, key }
  }

  /**
   * Retries, once a day, irrevocable leases that ended more than an hour ago. docs/contract/leases.md#retries
   */
  async #retryIrrevocable(now: number): Promise<void> {
    try {
      for await (const page of this.#parts.view.keyPages(irrevocablePrefix)) {
        const old = page.filter(
          (key) => readScheduled(key.slice(irrevocablePrefix.length)).time < now - minAgeMs,
        )
        await Promise.all(old.map((key) => this.#retry(key)))
        if (this.#isOver || old.length < page.length) break
      }
    } catch (error) {
      this.#report(error)
    }
    this.#daily = undefined
  }

  async #retry(key: string): Promise<void> {
    const release = await this.#pool.acquire(this.#dailySlots)
    try {
      await this.#parts.revoker.revoke(
        readScheduled(key.slice(irrevocablePrefix.length)),
        (lease) => scheduleKey(lease) === key,
        this.#held?.ended,
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
