const slots = 3
const delaySlot = 0
const failureSlot = 1
const skipSlot = 2

/** A failure that throws an error has its code; the others are what their names say. */
export type FaultRules<Point extends string, Failure extends string> = {
  readonly points: readonly Point[]
  readonly failures: Readonly<Record<Failure, string>>
  /** Whether an armed point fails at each pass until `disarm`, or at one. */
  readonly isLasting: boolean
}

/**
 * Fault injection for tests and benchmarks: makes something slow or failing while it runs. It uses shared memory, so
 * that other threads see a change at once. The server never creates one.
 */
export class Faults<Point extends string, Failure extends string> {
  readonly #rules: FaultRules<Point, Failure>
  readonly #codes: readonly (readonly [string, string])[]
  readonly #cells: Int32Array

  constructor(rules: FaultRules<Point, Failure>, shared?: SharedArrayBuffer) {
    this.#rules = rules
    this.#codes = Object.entries<string>(rules.failures)
    const bytes = (rules.points.length * slots + 1) * Int32Array.BYTES_PER_ELEMENT
    this.#cells = new Int32Array(shared ?? new SharedArrayBuffer(bytes))
  }

  /** The memory for another thread, which creates its own faults from it. */
  get shared(): SharedArrayBuffer {
    // the constructor accepts no other buffer
    return this.#cells.buffer as SharedArrayBuffer
  }

  /** Simulates a disk with this much free space; undefined ends the simulation. */
  setFreeBytes(bytes: number | undefined): void {
    Atomics.store(this.#cells, this.#cells.length - 1, bytes === undefined ? 0 : bytes + 1)
  }

  freeBytes(): number | undefined {
    const stored = Atomics.load(this.#cells, this.#cells.length - 1)
    return stored === 0 ? undefined : stored - 1
  }

  /** Simulates a slow disk: each pass of `point` takes this long. */
  delay(point: Point, milliseconds: number): void {
    Atomics.store(this.#cells, this.#cell(point, delaySlot), milliseconds)
  }

  /** Makes `point` fail after `skip` successful passes. */
  arm(point: Point, failure: Failure, skip = 0): void {
    const armed = this.#codes.findIndex(([name]) => name === failure) + 1
    Atomics.store(this.#cells, this.#cell(point, skipSlot), skip)
    Atomics.store(this.#cells, this.#cell(point, failureSlot), armed)
  }

  /** Whether what was armed has yet to happen, or happens at each pass. */
  isArmed(point: Point): boolean {
    return Atomics.load(this.#cells, this.#cell(point, failureSlot)) !== 0
  }

  /** Ends the arming of `point`, and what hangs there continues. Returns whether it was still armed. */
  disarm(point: Point): boolean {
    const cell = this.#cell(point, failureSlot)
    const armed = Atomics.exchange(this.#cells, cell, 0)
    Atomics.notify(this.#cells, cell)
    return armed !== 0
  }

  /** Called at `point`: may wait, throw an error, or never return. Returns what the caller does itself. */
  pass(point: Point): 'torn' | 'cut' | undefined {
    const milliseconds = Atomics.load(this.#cells, this.#cell(point, delaySlot))
    if (milliseconds > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
    const cell = this.#cell(point, failureSlot)
    const armed = Atomics.load(this.#cells, cell)
    const [failure, code] = this.#codes[armed - 1] ?? []
    if (failure === undefined || Atomics.sub(this.#cells, this.#cell(point, skipSlot), 1) > 0)
      return undefined
    if (this.#rules.isLasting) Atomics.store(this.#cells, this.#cell(point, skipSlot), 0)
    else Atomics.store(this.#cells, cell, 0)
    if (failure === 'torn' || failure === 'cut') return failure
    // in a worker this ends only the thread
    if (failure === 'end-thread') process.exit()
    if (failure === 'kill') process.kill(process.pid, 'SIGKILL')
    else if (failure === 'hang') Atomics.wait(this.#cells, cell, this.#rules.isLasting ? armed : 0)
    else throw Object.assign(new Error(`injected at ${point}`), { code })
    return undefined
  }

  #cell(point: Point, slot: number): number {
    return this.#rules.points.indexOf(point) * slots + slot
  }
}
