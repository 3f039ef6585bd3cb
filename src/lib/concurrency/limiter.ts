export type WaitingBounds = {
  /** The most callers that wait; any number by default. */
  readonly most?: number
  /** How long a caller waits; without end by default. */
  readonly ms?: number
  /** The error for a caller beyond these limits. */
  refusal(): Error
}

const unbounded: WaitingBounds = { refusal: () => new Error('may not wait') }

type Waiting = { start(): void }

/**
 * Limits concurrent work: at most `capacity` callers run at a time, and the rest wait in order of arrival.
 */
export class Limiter {
  readonly #bounds: WaitingBounds
  readonly #waiting = new Set<Waiting>()
  #capacity: number
  #free: number

  constructor(capacity: number, bounds: WaitingBounds = unbounded) {
    this.#capacity = capacity
    this.#free = capacity
    this.#bounds = bounds
  }

  /** A smaller capacity lets running work finish. */
  set capacity(capacity: number) {
    this.#free += capacity - this.#capacity
    this.#capacity = capacity
    this.#admit()
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    const leave = await this.enter()
    try {
      return await work()
    } finally {
      leave()
    }
  }

  /** Resolves once there is room. The caller must call the returned function exactly once to give it back. */
  async enter(): Promise<() => void> {
    if (this.#waiting.size === 0 && this.#free > 0) this.#free -= 1
    else await this.#wait()
    return () => {
      this.#free += 1
      this.#admit()
    }
  }

  #wait(): Promise<void> {
    const { most = Number.POSITIVE_INFINITY, ms, refusal } = this.#bounds
    if (this.#waiting.size >= most) throw refusal()
    return new Promise((resolve, reject) => {
      const waiting = {
        start: () => {
          clearTimeout(timer)
          resolve()
        },
      }
      const giveUp = () => {
        this.#waiting.delete(waiting)
        reject(refusal())
      }
      const timer = ms === undefined ? undefined : setTimeout(giveUp, ms)
      this.#waiting.add(waiting)
    })
  }

  #admit(): void {
    for (const waiting of this.#waiting) {
      if (this.#free <= 0) return
      this.#free -= 1
      this.#waiting.delete(waiting)
      waiting.start()
    }
  }
}
