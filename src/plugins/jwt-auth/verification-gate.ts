/**
 * Limits the total weight of concurrent work to `capacity`; the rest waits in order. Nothing overtakes a
 * heavy item at the head, so none starves.
 */
export class VerificationGate {
  #waiting: { weight: number; start: () => void }[] = []
  #head = 0
  #free: number

  constructor(capacity: number) {
    this.#free = capacity
  }

  /** Runs `work` once there is room for its weight, and returns its result. */
  async run<T>(weight: number, work: () => Promise<T>): Promise<T> {
    await this.#enter(weight)
    try {
      return await work()
    } finally {
      this.#free += weight
      this.#admit()
    }
  }

  #enter(weight: number): Promise<void> {
    return new Promise((start) => {
      this.#waiting.push({ weight, start })
      this.#admit()
    })
  }

  #admit(): void {
    for (
      let next = this.#waiting[this.#head];
      next !== undefined && next.weight <= this.#free;
      next = this.#waiting[this.#head]
    ) {
      this.#free -= next.weight
      this.#head++
      next.start()
    }
    // started items are dropped occasionally, so that a queue that never empties does not grow
    if (this.#head > 1024 || this.#head === this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#head)
      this.#head = 0
    }
  }
}
