import type { Clock } from '../../lib/clock.ts'
import type { Barrier } from './barrier.ts'

export type RotationScheduleParts = {
  readonly barrier: Pick<Barrier, 'isSealed' | 'keyStatus' | 'rotationRules' | 'rotate'>
  readonly clock: Clock
  /** Interval between two checks of the clock. */
  readonly intervalMs: number
  onError(error: unknown): void
}

/** Starts a new term after the interval of the rotation rules. */
export class RotationSchedule implements AsyncDisposable {
  readonly #parts: RotationScheduleParts
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined

  constructor(parts: RotationScheduleParts) {
    this.#parts = parts
  }

  start(): void {
    this.#timer = setInterval(() => void this.rotateIfDue(), this.#parts.intervalMs).unref()
  }

  /** Rotates if due. Reports failures and never rejects; the next check retries. */
  async rotateIfDue(): Promise<void> {
    this.#running ??= this.#rotateIfDue()
      .catch((error: unknown) => this.#parts.onError(error))
      .finally(() => {
        this.#running = undefined
      })
    await this.#running
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  async #rotateIfDue(): Promise<void> {
    const { barrier, clock } = this.#parts
    if (barrier.isSealed()) return
    const { enabled, interval } = barrier.rotationRules()
    const due = Date.parse(barrier.keyStatus().install_time) + interval * 1000
    if (enabled && interval > 0 && due <= clock.now()) await barrier.rotate()
  }
}
