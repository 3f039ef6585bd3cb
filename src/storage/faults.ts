/** Points where storage can be made to fail, each passed once a group or checkpoint. docs/storage.md */
const failPoints = ['storage.before-commit', 'storage.after-commit', 'storage.checkpoint'] as const
export type FailPoint = (typeof failPoints)[number]

/**
 * What happens at an armed point: an error as the engine gives it for a full, a read-only or a broken disk,
 * or the sudden end of the writing thread or of the whole process.
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
const roomCell = failPoints.length * slots

/**
 * The hook tests and benchmarks hand to storage to make it slow or failing while it runs. It is shared
 * memory, so that the writing thread sees a change at once. The server never makes one.
 */
export class StorageFaults {
  readonly #cells: Int32Array

  constructor(
    shared: SharedArrayBuffer = new SharedArrayBuffer((roomCell + 1) * Int32Array.BYTES_PER_ELEMENT),
  ) {
    this.#cells = new Int32Array(shared)
  }

  /** To be handed to another thread, which makes its own `StorageFaults` of it. */
  get shared(): SharedArrayBuffer {
    // the constructor takes nothing else
    return this.#cells.buffer as SharedArrayBuffer
  }

  /** The disk has so many bytes left from now on; undefined: as many as it really has. */
  leaveRoom(bytes: number | undefined): void {
    Atomics.store(this.#cells, roomCell, bytes === undefined ? 0 : bytes + 1)
  }

  room(): number | undefined {
    const stored = Atomics.load(this.#cells, roomCell)
    return stored === 0 ? undefined : stored - 1
  }

  /** Each pass of `point` takes so long from now on: a slow disk. */
  delay(point: FailPoint, milliseconds: number): void {
    Atomics.store(this.#cells, cell(point, delaySlot), milliseconds)
  }

  /** After `skip` passes of `point`, the next one fails so, once. */
  arm(point: FailPoint, failure: Failure, skip = 0): void {
    Atomics.store(this.#cells, cell(point, skipSlot), skip)
    Atomics.store(this.#cells, cell(point, failureSlot), failures.indexOf(failure) + 1)
  }

  /** Storage passes `point`: may wait, throw an error with an engine's `code`, or not come back. */
  pass(point: FailPoint): void {
    const milliseconds = Atomics.load(this.#cells, cell(point, delaySlot))
    if (milliseconds > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
    const failure = failures[Atomics.load(this.#cells, cell(point, failureSlot)) - 1]
    if (failure === undefined || Atomics.sub(this.#cells, cell(point, skipSlot), 1) > 0) return
    Atomics.store(this.#cells, cell(point, failureSlot), 0)
    // in a worker this ends the thread only
    if (failure === 'end-thread') process.exit()
    if (failure === 'kill') process.kill(process.pid, 'SIGKILL')
    else throw Object.assign(new Error(`injected at ${point}`), { code: codes[failure] })
  }
}

const cell = (point: FailPoint, slot: number) => failPoints.indexOf(point) * slots + slot
