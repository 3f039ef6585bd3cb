/** Limits on waiting. */
export type WaitingBounds = {
  /** The most callers that wait; any number by default. */
  readonly most?: number
  /** How long a caller waits; without end by default. */
  readonly ms?: number
  /** The error for a caller beyond these limits. */
  refusal(): Error
}

const unbounded: WaitingBounds = { refusal: () => new Error('may not wait') }

type Waiting = { readonly weight: number; start(): void }

/**
 * Limits concurrent work: at most `capacity` runs at a time, and the rest waits in order of arrival. A heavy
 * caller at the head of the queue is not overtaken, so none starves.
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

  /** Runs `work` once there is room for its weight. */
  async run<T>(work: () => Promise<T>, weight = 1): Promise<T> {
    const leave = await this.enter(weight)
    try {
      return await work()
    } finally {
      leave()
    }
  }

  /** Resolves once there is room. The caller must call the returned function exactly once to give it back. */
  async enter(weight = 1): Promise<() => void> {
    if (this.#waiting.size === 0 && weight <= this.#free) this.#free -= weight
    else await this.#turn(weight)
    return () => {
      this.#free += weight
      this.#admit()
    }
  }

  #turn(weight: number): Promise<void> {
    const { most = Number.POSITIVE_INFINITY, ms, refusal } = this.#bounds
    if (this.#waiting.size >= most) throw refusal()
    return new Promise((resolve, reject) => {
      const waiting = {
        weight,
        start: () => {
          clearTimeout(timer)
          resolve()
        },
      }
      const giveUp = () => {
        this.#waiting.delete(waiting)
        reject(refusal())
        // lighter work behind it may fit
        this.#admit()
      }
      const timer = ms === undefined ? undefined : setTimeout(giveUp, ms)
      this.#waiting.add(waiting)
    })
  }

  #admit(): void {
    for (const waiting of this.#waiting) {
      if (waiting.weight > this.#free) return
      this.#free -= waiting.weight
      this.#waiting.delete(waiting)
      waiting.start()
    }
  }
}
