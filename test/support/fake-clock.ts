import type { Clock } from '../../src/lib/system/clock.ts'

/** Time that moves only when a test says so. */
export class FakeClock implements Clock {
  #now: number

  constructor(now = Date.now()) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  advance(seconds: number): void {
    this.#now += seconds * 1000
  }
}
