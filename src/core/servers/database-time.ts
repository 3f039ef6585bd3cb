import { wait } from '../../lib/concurrency/wait.ts'
import type { MachineClock } from '../../lib/system/clock.ts'
import type { SharedStorage } from '../../storage/shared-storage.ts'
import type { CoreLog } from '../core-log.ts'

export type DatabaseTimeParts = {
  readonly shared: Pick<SharedStorage, 'databaseTime'>
  readonly clock: MachineClock
  readonly log: Pick<CoreLog, 'info' | 'warn' | 'error'>
}

/** The database's time minus the monotonic time, and how wrong that may be. */
type Sample = { readonly difference: number; readonly uncertainty: number; readonly at: number }

const measureEveryMs = 10_000
/** At the start, the first call opens a connection and takes longer. */
const firstSamples = 3
/** Older samples are not used: the monotonic clock may run a little fast or slow. */
const keptForMs = 60_000
/** The most by which two good samples differ besides their uncertainty. */
const driftMs = 50
const warnAboveMs = 5_000
const notReadyAboveMs = 60_000

/**
 * Makes the clock of a server follow the time of the database that it shares with other servers. Between two
 * measurements the monotonic clock counts. docs/replicas.md#time
 */
export class DatabaseTime implements AsyncDisposable {
  readonly #parts: DatabaseTimeParts
  readonly #stopping = new AbortController()
  #samples: readonly Sample[] = []
  /** Of the best sample. */
  #difference = 0
  #judgement: 'good' | 'off' | 'far off' = 'good'
  #measuring: Promise<void> | undefined

  constructor(parts: DatabaseTimeParts) {
    this.#parts = parts
  }

  /** Resolves once the clock follows the database, or when the database cannot be reached. */
  async start(): Promise<void> {
    for (let count = 0; count < firstSamples; count += 1) await this.measure()
    this.#measuring = this.#measureAgain()
  }

  /** How far the clock of this machine is ahead of the database's, in milliseconds. */
  get offsetMs(): number {
    const { wall, steady } = this.#parts.clock.machine
    return this.#samples.length === 0 ? 0 : wall() - steady() - this.#difference
  }

  /** Whether the clock of this machine is so wrong that the server must not get requests. */
  get isFarOff(): boolean {
    return this.#judgement === 'far off'
  }

  /** Measures once. Never rejects: the storage reports its failures. */
  async measure(): Promise<void> {
    const { shared, clock } = this.#parts
    const { steady } = clock.machine
    const began = steady()
    const time = await shared.databaseTime().catch(() => undefined)
    if (time === undefined) return
    const at = steady()
    const isFirst = this.#samples.length === 0
    this.#add({ difference: time - (began + at) / 2, uncertainty: (at - began) / 2, at })
    if (isFirst) clock.follow(() => steady() + this.#difference)
    this.#judge()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    await this.#measuring
  }

  async #measureAgain(): Promise<void> {
    for (const { signal } = this.#stopping; ; ) {
      await wait(measureEveryMs, signal)
      if (signal.aborted) return
      await this.measure()
    }
  }

  /** The sample with the shortest round trip counts, unless the database's clock has been set since. */
  #add(sample: Sample): void {
    const isLike = (old: Sample) =>
      Math.abs(old.difference - sample.difference) <= old.uncertainty + sample.uncertainty + driftMs
    const kept = this.#samples.filter((old) => sample.at - old.at <= keptForMs)
    this.#samples = kept.every(isLike) ? [...kept, sample] : [sample]
    this.#difference = this.#samples.reduce((best, one) =>
      one.uncertainty < best.uncertainty ? one : best,
    ).difference
  }

  #judge(): void {
    const { log } = this.#parts
    const offset = this.offsetMs
    const before = this.#judgement
    this.#judgement =
      Math.abs(offset) > notReadyAboveMs ? 'far off' : Math.abs(offset) > warnAboveMs ? 'off' : 'good'
    if (this.#judgement === before) return
    const fields = { event: 'clock_offset', seconds: offset / 1000 }
    if (this.#judgement === 'good')
      log.info(fields, 'the clock of this machine agrees with the database again')
    else if (this.#judgement === 'off')
      log.warn(fields, 'the clock of this machine differs from that of the database')
    else log.error(fields, 'the clock of this machine is far off: the server is not ready')
  }
}
