/** A source of time, passed in so that tests can control it. */
export type Clock = {
  /** Milliseconds since the epoch. */
  now(): number
  /** All large backward steps that were adopted, in order. What expired before a step stays expired. */
  readonly stepsBack?: readonly ClockStep[]
}

export const systemClock: Clock = { now: () => Date.now() }

/** The machine's clock was changed by more than 5 minutes: the time before and after the change. */
export type ClockStep = { readonly before: number; readonly after: number }

export type MachineTime = {
  /** The machine's clock, which may be changed at any time. */
  wall(): number
  /** Monotonic milliseconds since an arbitrary moment. */
  steady(): number
}

/** Larger steps are adopted; smaller backward steps are absorbed. */
const largestAbsorbedMs = 5 * 60_000
/** The machine's clock is read at most this often; in between, the steady clock counts. */
const readEveryMs = 100
/** The pace of time while a backward step is absorbed. */
const absorbingPace = 0.5

/**
 * The machine's time, without small backward steps. After a step back of at most 5 minutes, time runs at half
 * pace until the machine's clock has caught up. After a larger one, time continues unchanged until `adopt` is
 * called, so that the caller can first end what has expired. Forward steps are adopted immediately.
 * docs/operations.md#time
 */
export class MachineClock implements Clock {
  readonly machine: MachineTime
  #source: () => number
  /** This clock's time at one moment of the steady clock, and the pace since then. */
  #time: number
  #at: number
  #pace = 1
  #stepped: ((step: ClockStep) => void) | undefined
  #isStepPending = false
  #stepsBack: readonly ClockStep[] = []

  constructor(machine: MachineTime) {
    this.machine = machine
    this.#source = machine.wall
    this.#time = machine.wall()
    this.#at = machine.steady()
  }

  now(): number {
    const steady = this.machine.steady()
    if (steady - this.#at >= readEveryMs) this.#read(steady)
    return Math.floor(this.#timeAt(steady))
  }

  /** How far the machine's clock is ahead of this one, in milliseconds. */
  offset(): number {
    return this.machine.wall() - this.now()
  }

  /**
   * Follows another source instead of the machine's clock, whose time it takes over at once. Must be called
   * before anything depends on the time.
   */
  follow(source: () => number): void {
    this.#source = source
    this.#set(source(), this.machine.steady(), 1)
  }

  /**
   * Calls `listener` once for each large step. After a backward step, the listener must call `adopt`. Without
   * a listener, steps are adopted immediately.
   */
  onStep(listener: (step: ClockStep) => void): void {
    this.#stepped = listener
  }

  /** Removes the listener. A step that it has not adopted is adopted. */
  forgetListener(): void {
    this.#stepped = undefined
    if (this.#isStepPending) this.adopt()
  }

  get stepsBack(): readonly ClockStep[] {
    return this.#stepsBack
  }

  /** The steps that the servers of a shared storage have recorded. */
  useStepsBack(steps: readonly ClockStep[]): void {
    this.#stepsBack = steps
  }

  /** Continues from the previous process: its last time, and its backward steps. */
  startFrom(time: number, stepsBack: readonly ClockStep[] = []): void {
    this.#stepsBack = stepsBack
    if (time <= this.now()) return
    this.#time = time
    this.#at = this.machine.steady()
    this.#read(this.#at)
  }

  /** Switches to the time that it follows. */
  adopt(): void {
    const step = { before: this.now(), after: this.#source() }
    if (step.before - step.after > largestAbsorbedMs) this.#stepsBack = [...this.#stepsBack, step]
    this.#set(step.after, this.machine.steady(), 1)
    this.#isStepPending = false
  }

  #timeAt(steady: number): number {
    return this.#time + (steady - this.#at) * this.#pace
  }

  #read(steady: number): void {
    const before = this.#timeAt(steady)
    const after = this.#source()
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
