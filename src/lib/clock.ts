/** Time as it is handed in. Tests own it; `src/server.ts` hands in the machine's. */
export type Clock = {
  /** Milliseconds since the epoch. */
  now(): number
  /**
   * The large steps backward that were ever adopted, in order. What had ended by the `before` of one has
   * ended for good.
   */
  readonly stepsBack?: readonly ClockStep[]
}

export const systemClock: Clock = { now: () => Date.now() }

/** The machine's clock was set by more than 5 minutes. Both times are those at the moment of the step. */
export type ClockStep = { readonly before: number; readonly after: number }

export type MachineTime = {
  /** The machine's clock, which may be set at any time. */
  wall(): number
  /** Milliseconds since any moment, which pass evenly. */
  steady(): number
}

/** Further steps are adopted, smaller ones backward are absorbed. */
const largestAbsorbedMs = 5 * 60_000
/** How often the machine's clock is read at most; in between, the steady clock counts. */
const readEveryMs = 100
/** While a step backward is absorbed, time passes at this share of its pace. */
const absorbingPace = 0.5

/**
 * The machine's time, without its small steps backward: after one of at most 5 minutes, time passes at half
 * its pace until the machine's clock has caught up. After a larger one, time goes on as before until `adopt`
 * is called, so that what has expired can be ended first. Steps forward are adopted at once.
 * docs/operations.md#time
 */
export class MachineClock implements Clock {
  readonly #machine: MachineTime
  /** Our time at a moment of the steady clock, and the pace from there. */
  #time: number
  #at: number
  #pace = 1
  #stepped: ((step: ClockStep) => void) | undefined
  #isStepPending = false
  #stepsBack: readonly ClockStep[] = []

  constructor(machine: MachineTime) {
    this.#machine = machine
    this.#time = machine.wall()
    this.#at = machine.steady()
  }

  now(): number {
    const steady = this.#machine.steady()
    if (steady - this.#at >= readEveryMs) this.#read(steady)
    return Math.floor(this.#timeAt(steady))
  }

  /** How far the machine's clock is ahead of this one, in milliseconds. */
  offset(): number {
    return this.#machine.wall() - this.now()
  }

  /**
   * Told of each large step, once; after one backward, `adopt` is to be called. Without a listener, steps are
   * adopted at once.
   */
  onStep(listener: (step: ClockStep) => void): void {
    this.#stepped = listener
  }

  get stepsBack(): readonly ClockStep[] {
    return this.#stepsBack
  }

  /** What the last process has seen: how late it was, and the steps backward. */
  startFrom(time: number, stepsBack: readonly ClockStep[] = []): void {
    this.#stepsBack = stepsBack
    if (time <= this.now()) return
    this.#time = time
    this.#at = this.#machine.steady()
    this.#read(this.#at)
  }

  /** Goes over to the machine's time, wherever that is. */
  adopt(): void {
    const step = { before: this.now(), after: this.#machine.wall() }
    if (step.before - step.after > largestAbsorbedMs) this.#stepsBack = [...this.#stepsBack, step]
    this.#set(step.after, this.#machine.steady(), 1)
    this.#isStepPending = false
  }

  #timeAt(steady: number): number {
    return this.#time + (steady - this.#at) * this.#pace
  }

  #read(steady: number): void {
    const before = this.#timeAt(steady)
    const after = this.#machine.wall()
    if (after >= before) {
      this.#isStepPending = false
      this.#set(after, steady, 1)
      if (after - before > largestAbsorbedMs) this.#stepped?.({ before, after })
    } else if (before - after <= largestAbsorbedMs) {
      this.#isStepPending = false
      this.#set(before, steady, absorbingPace)
    } else this.#stepBack({ before, after }, steady)
  }

  #stepBack(step: ClockStep, steady: number): void {
    this.#set(step.before, steady, 1)
    if (this.#isStepPending) return
    this.#isStepPending = true
    if (this.#stepped === undefined) this.adopt()
    else this.#stepped(step)
  }

  #set(time: number, steady: number, pace: number): void {
    this.#time = time
    this.#at = steady
    this.#pace = pace
  }
}

export const machineClock = (): MachineClock =>
  new MachineClock({ wall: () => Date.now(), steady: () => performance.now() })
