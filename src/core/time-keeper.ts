import type { ClockStep, MachineClock } from '../lib/clock.ts'
import type { View } from './barrier/view.ts'

export type TimeKeeperParts = {
  readonly clock: MachineClock
  readonly view: View
  /** Durably ends everything that has expired. */
  settle(): Promise<void>
  /** Called after a step was adopted. */
  onStep(step: ClockStep): void
  onError(error: unknown): void
}

const key = 'clock'
type StoredTime = { readonly seen: number; readonly steps_back: readonly ClockStep[] }
const checkIntervalMs = 1_000
/** How often the current time is stored. */
const storeIntervalMs = 60_000
/** A backward step is adopted after this time, even if `settle` has not finished. */
const settleLimitMs = 30_000

/**
 * Watches the system clock. Before it adopts a large backward step, it ends everything that has expired, so
 * that nothing becomes valid again. It stores the latest time, to detect steps while no server runs.
 * docs/operations.md#time
 */
export class TimeKeeper implements AsyncDisposable {
  readonly #parts: TimeKeeperParts
  #timer: NodeJS.Timeout | undefined
  #storedAt: number
  #work: Promise<void> = Promise.resolve()
  #isStopped = false

  private constructor(parts: TimeKeeperParts) {
    this.#parts = parts
    this.#storedAt = parts.clock.now()
  }

  /** Resolves when a step since the last run has been adopted. */
  static async start(parts: TimeKeeperParts): Promise<TimeKeeper> {
    const keeper = new TimeKeeper(parts)
    parts.clock.onStep((step) => {
      keeper.#work = keeper.#work.then(() => keeper.#adopt(step))
    })
    const stored = await parts.view.get(key).catch(() => undefined)
    if (isStoredTime(stored)) parts.clock.startFrom(stored.seen, stored.steps_back)
    await keeper.#work
    keeper.#timer = setInterval(() => keeper.#check(), checkIntervalMs).unref()
    return keeper
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#timer)
    await this.#work
    await this.#store()
    this.#parts.clock.forgetListener()
  }

  #check(): void {
    if (this.#parts.clock.now() - this.#storedAt < storeIntervalMs) return
    this.#work = this.#work.then(() => this.#store())
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
    await this.#store()
    onStep(step)
  }

  async #store(): Promise<void> {
    this.#storedAt = this.#parts.clock.now()
    const value: StoredTime = { seen: this.#storedAt, steps_back: this.#parts.clock.stepsBack }
    // ignore a sealed or failing store: other writes report it
    await this.#parts.view.write([{ key, value }]).catch(() => undefined)
  }
}

const isStoredTime = (value: unknown): value is StoredTime =>
  typeof value === 'object' &&
  value !== null &&
  'seen' in value &&
  typeof value.seen === 'number' &&
  'steps_back' in value &&
  Array.isArray(value.steps_back)
