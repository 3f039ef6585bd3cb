import type { ClockStep, MachineClock } from '../lib/clock.ts'
import type { View } from './barrier/view.ts'

export type TimeKeeperParts = {
  readonly clock: MachineClock
  readonly view: View
  /** Ends, durably, all that has expired by now. */
  settle(): Promise<void>
  /** Told once a step is adopted. */
  onStep(step: ClockStep): void
  onError(error: unknown): void
}

const key = 'clock'
type Kept = { readonly seen: number; readonly steps_back: readonly ClockStep[] }
const lookEveryMs = 1_000
/** What a process has seen of time is kept so often. */
const keepEveryMs = 60_000
/** A step backward is adopted by then, even if what had expired cannot be ended. */
const settleLimitMs = 30_000

/**
 * Watches the machine's clock. Before a large step backward is adopted, everything that has expired is ended,
 * so that none of it comes back to life. The time that was reached is kept in the store: a step while no
 * server runs counts too. docs/operations.md#time
 */
export class TimeKeeper implements AsyncDisposable {
  readonly #parts: TimeKeeperParts
  #looking: NodeJS.Timeout | undefined
  #keptAt: number
  #work: Promise<void> = Promise.resolve()
  #isStopped = false

  private constructor(parts: TimeKeeperParts) {
    this.#parts = parts
    this.#keptAt = parts.clock.now()
  }

  /** Resolves when a step that came while no server ran is adopted. */
  static async start(parts: TimeKeeperParts): Promise<TimeKeeper> {
    const keeper = new TimeKeeper(parts)
    parts.clock.onStep((step) => {
      keeper.#work = keeper.#work.then(() => keeper.#adopt(step))
    })
    const kept = await parts.view.get(key).catch(() => undefined)
    if (isKept(kept)) parts.clock.startFrom(kept.seen, kept.steps_back)
    await keeper.#work
    keeper.#looking = setInterval(() => keeper.#look(), lookEveryMs).unref()
    return keeper
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#looking)
    await this.#work
    await this.#keep()
  }

  #look(): void {
    if (this.#parts.clock.now() - this.#keptAt < keepEveryMs) return
    this.#work = this.#work.then(() => this.#keep())
  }

  async #adopt(step: ClockStep): Promise<void> {
    const { clock, settle, onStep, onError } = this.#parts
    if (step.after < step.before && !this.#isStopped) {
      const limit = Promise.withResolvers<void>()
      const timer = setTimeout(limit.resolve, settleLimitMs).unref()
      await Promise.race([settle(), limit.promise]).catch(onError)
      clearTimeout(timer)
      clock.adopt()
    }
    await this.#keep()
    onStep(step)
  }

  async #keep(): Promise<void> {
    this.#keptAt = this.#parts.clock.now()
    // a store that is sealed or cannot be written to is reported by whoever needs it
    await this.#parts.view
      .write([{ key, value: { seen: this.#keptAt, steps_back: this.#parts.clock.stepsBack } satisfies Kept }])
      .catch(() => undefined)
  }
}

const isKept = (value: unknown): value is Kept =>
  typeof value === 'object' &&
  value !== null &&
  'seen' in value &&
  typeof value.seen === 'number' &&
  'steps_back' in value &&
  Array.isArray(value.steps_back)
