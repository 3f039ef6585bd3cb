import { z } from 'zod'
import type { ClockStep, MachineClock } from '../../lib/system/clock.ts'
import type { View } from '../barrier/view.ts'

export type TimeKeeperParts = {
  readonly clock: MachineClock
  /** The core's view. */
  readonly view: View
  /** Durably ends everything that has expired. */
  settle(): Promise<void>
  /** Called after a step was adopted. */
  onStep(step: ClockStep): void
  onError(error: unknown): void
}

const key = 'clock'
const clockStep = z.object({ before: z.number(), after: z.number() })
const storedTime = z.object({ seen: z.number(), steps_back: z.array(clockStep).readonly() })
type StoredTime = z.output<typeof storedTime>
const checkIntervalMs = 1_000
/** How often the current time is stored. */
const storeIntervalMs = 60_000
/** Servers that share a database notice a step of its clock within this time of each other. */
const sameStepMs = 2 * 60_000
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
  /** The stored steps. Tokens refer to them by number, so all servers have the same ones. */
  #steps: readonly ClockStep[] = []
  /** Steps that other servers have stored and this one has not noticed. */
  #unnoticed: readonly ClockStep[] = []
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
    if (isStoredTime(stored)) {
      keeper.#steps = stored.steps_back
      parts.clock.startFrom(stored.seen, stored.steps_back)
    }
    await keeper.#work
    parts.view.watch(key, () => keeper.#follow())
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

  /** Stores the time, and the steps that are not stored yet. */
  async #store(): Promise<void> {
    const { view, clock } = this.#parts
    const now = clock.now()
    this.#storedAt = now
    const own = this.#own
    const change = (current: unknown): StoredTime => {
      const { seen, steps_back } = isStoredTime(current) ? current : { seen: now, steps_back: [] }
      const others = [...this.#unnoticed, ...steps_back.slice(this.#steps.length)]
      // a server that has not noticed the step yet is still ahead
      if (own.length === 0 && others.length > 0) return { seen, steps_back }
      return { seen: now, steps_back: [...steps_back, ...without(own, others)] }
    }
    try {
      // other servers copy only the steps
      const after = await view.update(key, change, own.length === 0 ? { isUncopied: true } : {})
      if (isStoredTime(after)) this.#learn(after.steps_back)
    } catch {
      // ignore a sealed or failing store: other writes report it
    }
  }

  /** Another server has stored a step. */
  async #follow(): Promise<void> {
    const stored = await this.#parts.view.get(key).catch(() => undefined)
    if (isStoredTime(stored)) this.#learn(stored.steps_back)
  }

  /** The steps of this server that are not stored. */
  get #own(): readonly ClockStep[] {
    return this.#parts.clock.stepsBack.slice(this.#steps.length)
  }

  #learn(stored: readonly ClockStep[]): void {
    if (stored.length < this.#steps.length) return
    const own = this.#own
    const others = [...this.#unnoticed, ...stored.slice(this.#steps.length)]
    this.#unnoticed = without(others, own)
    this.#steps = stored
    this.#parts.clock.useStepsBack([...stored, ...without(own, others)])
  }
}

/** The steps that are in the first list only. */
const without = (steps: readonly ClockStep[], others: readonly ClockStep[]): ClockStep[] =>
  steps.filter((step) => !others.some((other) => isSameStep(step, other)))

const isSameStep = (one: ClockStep, other: ClockStep): boolean =>
  Math.abs(one.before - other.before) < sameStepMs && Math.abs(one.after - other.after) < sameStepMs

const isStoredTime = (value: unknown): value is StoredTime => storedTime.safeParse(value).success
