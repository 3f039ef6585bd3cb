import { wait } from '../../lib/concurrency/wait.ts'
import type { Clock } from '../../lib/system/clock.ts'
import { type Fence, fenced, type SharedStorage, unfenced } from '../../storage/shared-storage.ts'
import type { CoreLog } from '../core-log.ts'

export type JobsParts = {
  /** Undefined if no other server does the same jobs: then each job is held at once, for good. */
  readonly shared: SharedStorage | undefined
  readonly clock: Clock
  readonly log: Pick<CoreLog, 'info' | 'warn' | 'error'>
  /** Called after each run of a job of this kind. */
  readonly onRun?: ((kind: string, outcome: Outcome) => void) | undefined
  /** Changed by tests only. */
  readonly times?: { readonly keepMs: number; readonly ttlMs: number }
}

type Outcome = 'ok' | 'failed'

/** A holder renews its lease, and another server tries to take it, this often. */
const keepMs = 3_000
/** A holder that does not renew its lease loses it after this time. */
const ttlMs = 10_000

/** The right to do a job. */
export type Held = {
  /** Aborted when the lease is lost or the server stops. The work must end soon after. */
  readonly ended: AbortSignal
  /**
   * Runs work that began outside of the job, such as a timer set by a request: its writes are refused once
   * another server has taken the job. What the job itself starts needs no such call.
   */
  run<T>(work: () => Promise<T>): Promise<T>
}

/** What a gauge shows of a kind of jobs. `lastSuccess` is in milliseconds since the epoch. */
export type JobStatus = {
  /** The name of the job, up to a slash. */
  readonly kind: string
  readonly isHeld: boolean
  readonly lastSuccess: number | undefined
}

/**
 * The background jobs of which each runs on one server at a time. A server that shares its storage holds a
 * lease for each job it does. If it stops renewing the lease, another server takes the job, and each later
 * write of the former holder is refused. docs/replicas.md#background-jobs
 */
export class Jobs implements AsyncDisposable {
  readonly #parts: JobsParts
  readonly #jobs = new Map<string, BackgroundJob>()

  constructor(parts: JobsParts) {
    this.#parts = parts
  }

  /** How often a server tries to take a job. */
  get keepMs(): number {
    return this.#parts.times?.keepMs ?? keepMs
  }

  get isShared(): boolean {
    return this.#parts.shared !== undefined
  }

  /** The job of that name: `sweep`, or `sweep/<id>` for jobs that exist once for each of many objects. */
  job(name: string): BackgroundJob {
    const known = this.#jobs.get(name)
    if (known !== undefined) return known
    const job = new BackgroundJob(name, { ...this.#parts, onDone: () => this.#jobs.delete(name) })
    this.#jobs.set(name, job)
    return job
  }

  /** The jobs that this server does if it holds them, by kind. */
  status(): JobStatus[] {
    const byKind = new Map<string, JobStatus>()
    for (const { status } of this.#jobs.values()) {
      if (status === undefined) continue
      const { kind, isHeld, lastSuccess = 0 } = byKind.get(status.kind) ?? status
      const last = Math.max(lastSuccess, status.lastSuccess ?? 0)
      byKind.set(kind, { kind, isHeld: isHeld || status.isHeld, lastSuccess: last || undefined })
    }
    return [...byKind.values()]
  }

  /** Ends all jobs and gives their leases back. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#jobs.values()].map((job) => job[Symbol.asyncDispose]()))
  }
}

/** One job, which runs on one server at a time. */
export class BackgroundJob implements AsyncDisposable {
  readonly #name: string
  readonly #parts: JobsParts & { onDone(): void }
  readonly #keepMs: number
  readonly #ttlMs: number
  readonly #stopping = new AbortController()
  #cycle: Promise<void> | undefined
  #isHeld = false
  #lastSuccess: number | undefined

  constructor(name: string, parts: JobsParts & { onDone(): void }) {
    this.#name = name
    this.#parts = parts
    this.#keepMs = parts.times?.keepMs ?? keepMs
    this.#ttlMs = parts.times?.ttlMs ?? ttlMs
  }

  /** Whether other servers may do the job. */
  get isShared(): boolean {
    return this.#parts.shared !== undefined
  }

  get status(): JobStatus | undefined {
    if (this.#cycle === undefined) return undefined
    return { kind: kindOf(this.#name), isHeld: this.#isHeld, lastSuccess: this.#lastSuccess }
  }

  /**
   * Begins the job: does `work` each time this server gets the lease, until `work` resolves while it holds
   * it; then the job is forgotten. A failure is logged, and the work begins again after a pause, here or on
   * another server. Must be called once.
   */
  begin(work: (held: Held) => Promise<void>): void {
    if (this.#cycle !== undefined) throw new Error(`the job ${this.#name} was begun twice`)
    this.#cycle = this.#repeat(work).finally(() => this.#parts.onDone())
  }

  /** Reports the end of a run, for the metrics. */
  ran(outcome: Outcome): void {
    if (outcome === 'ok') this.#lastSuccess = this.#parts.clock.now()
    this.#parts.onRun?.(kindOf(this.#name), outcome)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    await this.#cycle
  }

  async #repeat(work: (held: Held) => Promise<void>): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const isDone = await this.#once(work).catch((err: unknown) => {
        this.#parts.log.error(
          { event: 'work_failed', err, job: this.#name },
          'a background job failed; will retry',
        )
        return false
      })
      if (isDone) return
      await wait(this.#keepMs, this.#stopping.signal)
    }
  }

  async #once(work: (held: Held) => Promise<void>): Promise<boolean> {
    const { shared } = this.#parts
    try {
      if (shared !== undefined) return await this.#onceShared(shared, work)
      this.#isHeld = true
      await work({ ended: this.#stopping.signal, run: (part) => part() })
      return true
    } finally {
      this.#isHeld = false
    }
  }

  async #onceShared(shared: SharedStorage, work: (held: Held) => Promise<void>): Promise<boolean> {
    const askedAt = performance.now()
    // a storage that fails is reported elsewhere
    const fence = await shared.holdJob(this.#name, this.#ttlMs).catch(() => undefined)
    if (fence === undefined) return false
    try {
      if (this.#stopping.signal.aborted) return true
      return await this.#workWith(shared, { fence, askedAt, work })
    } finally {
      await shared.releaseJob(fence).catch(() => undefined)
    }
  }

  async #workWith(
    shared: SharedStorage,
    { fence, askedAt, work }: { fence: Fence; askedAt: number; work(held: Held): Promise<void> },
  ): Promise<boolean> {
    const { log } = this.#parts
    const fields = { job: this.#name, epoch: fence.epoch }
    const lost = new AbortController()
    const finished = new AbortController()
    this.#isHeld = true
    log.info({ event: 'background_taken', ...fields }, 'this server does a background job from now on')
    const keeping = this.#keep(shared, { fence, askedAt, finished: finished.signal }).then((isKept) => {
      if (isKept) return
      this.#isHeld = false
      log.warn({ event: 'background_lost', ...fields }, 'another server may do a background job from now on')
      lost.abort()
    })
    const ended = AbortSignal.any([lost.signal, this.#stopping.signal])
    try {
      await fenced(fence, () => work({ ended, run: (part) => fenced(fence, part) }))
    } catch (error) {
      // the refused write of a former holder, for example
      if (!ended.aborted) throw error
    } finally {
      finished.abort()
      await keeping
    }
    return !lost.signal.aborted
  }

  /** Renews a lease. Resolves to false if it is lost, and to true if `finished` was aborted before. */
  async #keep(
    shared: SharedStorage,
    { fence, askedAt, finished }: { fence: Fence; askedAt: number; finished: AbortSignal },
  ): Promise<boolean> {
    for (let until = askedAt + this.#ttlMs; ; ) {
      await wait(Math.min(this.#keepMs, until - performance.now()), finished)
      if (finished.aborted) return true
      const now = performance.now()
      // the process was paused, or the storage fails
      if (now >= until) return false
      const renewed = await Promise.race([
        shared.holdJob(this.#name, this.#ttlMs).catch(() => 'unknown' as const),
        wait(until - now, finished).then(() => 'unknown' as const),
      ])
      if (renewed === 'unknown') continue
      if (renewed?.epoch !== fence.epoch) return finished.aborted
      until = now + this.#ttlMs
    }
  }
}

const kindOf = (name: string): string => name.replace(/\/.*/s, '')

/** Runs work that is not part of the caller's job. */
export const outsideOfJobs = unfenced
