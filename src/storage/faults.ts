/**
 * Fail points. Storage passes `storage.read` and `storage.statement` before each statement, the other
 * `storage` ones once per group or checkpoint. docs/storage.md#what-the-tests-would-notice
 */
const failPoints = [
  'storage.read',
  'storage.statement',
  'storage.before-commit',
  'storage.after-commit',
  'storage.checkpoint',
  'backup.before-rename',
  'restore.before-rename',
] as const
export type FailPoint = (typeof failPoints)[number]

/**
 * What happens at an armed fail point: the engine's error for a full, read-only or broken disk, or the sudden
 * end of the writing thread or the process.
 */
const failures = ['full', 'read-only', 'io', 'end-thread', 'kill'] as const
export type Failure = (typeof failures)[number]

const codes: Record<Exclude<Failure, 'end-thread' | 'kill'>, string> = {
  full: 'SQLITE_FULL',
  'read-only': 'SQLITE_READONLY',
  io: 'SQLITE_IOERR_WRITE',
}

const slots = 3
const delaySlot = 0
const failureSlot = 1
const skipSlot = 2
const freeBytesCell = failPoints.length * slots

/**
 * Fault injection for tests and benchmarks: makes storage slow or failing while it runs. It uses shared
 * memory, so that the writing thread sees a change at once. The server never creates one.
 */
export class StorageFaults {
  readonly #cells: Int32Array

  constructor(
    shared: SharedArrayBuffer = new SharedArrayBuffer((freeBytesCell + 1) * Int32Array.BYTES_PER_ELEMENT),
  ) {
    this.#cells = new Int32Array(shared)
  }

  /** The memory for another thread, which creates its own `StorageFaults` from it. */
  get shared(): SharedArrayBuffer {
    // the constructor accepts no other buffer
    return this.#cells.buffer as SharedArrayBuffer
  }

  /** Simulates a disk with this much free space; undefined ends the simulation. */
  setFreeBytes(bytes: number | undefined): void {
    Atomics.store(this.#cells, freeBytesCell, bytes === undefined ? 0 : bytes + 1)
  }

  freeBytes(): number | undefined {
    const stored = Atomics.load(this.#cells, freeBytesCell)
    return stored === 0 ? undefined : stored - 1
  }

  /** Simulates a slow disk: each pass of `point` takes this long. */
  delay(point: FailPoint, milliseconds: number): void {
    Atomics.store(this.#cells, cell(point, delaySlot), milliseconds)
  }

  /** Makes one pass of `point` fail, after `skip` successful ones. */
  arm(point: FailPoint, failure: Failure, skip = 0): void {
    Atomics.store(this.#cells, cell(point, skipSlot), skip)
    Atomics.store(this.#cells, cell(point, failureSlot), failures.indexOf(failure) + 1)
  }

  /** Ends the arming of `point`; returns whether it was still armed. */
  disarm(point: FailPoint): boolean {
    return Atomics.exchange(this.#cells, cell(point, failureSlot), 0) !== 0
  }

  /** Called by storage at `point`: may wait, throw an error with an engine's `code`, or never return. */
  pass(point: FailPoint): void {
    const milliseconds = Atomics.load(this.#cells, cell(point, delaySlot))
    if (milliseconds > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
    const failure = failures[Atomics.load(this.#cells, cell(point, failureSlot)) - 1]
    if (failure === undefined || Atomics.sub(this.#cells, cell(point, skipSlot), 1) > 0) return
    Atomics.store(this.#cells, cell(point, failureSlot), 0)
    // in a worker this ends only the thread
    if (failure === 'end-thread') process.exit()
    if (failure === 'kill') process.kill(process.pid, 'SIGKILL')
    else throw Object.assign(new Error(`injected at ${point}`), { code: codes[failure] })
  }
}

const cell = (point: FailPoint, slot: number) => failPoints.indexOf(point) * slots + slot
