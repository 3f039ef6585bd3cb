/** The fail points of a device, passed once per write. docs/contract/audit.md#what-the-tests-would-notice */
const failPoints = ['audit.before-write', 'audit.after-write'] as const
export type AuditFailPoint = (typeof failPoints)[number]

/**
 * `torn` and `cut`: only a part of the text is written before the disk is full, or the process is killed.
 * `hang`: the write does not return.
 */
const failures = ['ENOSPC', 'EIO', 'EROFS', 'torn', 'cut', 'hang', 'kill'] as const
export type AuditFailure = (typeof failures)[number]

const slots = 2
const failureSlot = 0
const skipSlot = 1

/**
 * Fault injection for tests: makes the writes of a device fail while it runs. It uses shared memory, because
 * the device writes in a thread of its own. The server never creates one.
 */
export class AuditFaults {
  readonly #cells: Int32Array

  constructor(
    shared: SharedArrayBuffer = new SharedArrayBuffer(
      failPoints.length * slots * Int32Array.BYTES_PER_ELEMENT,
    ),
  ) {
    this.#cells = new Int32Array(shared)
  }

  /** The memory for another thread, which creates its own `AuditFaults` from it. */
  get shared(): SharedArrayBuffer {
    // the constructor accepts no other buffer
    return this.#cells.buffer as SharedArrayBuffer
  }

  /** Makes every pass of `point` fail, after `skip` successful ones, until `disarm`. */
  arm(point: AuditFailPoint, failure: AuditFailure, skip = 0): void {
    Atomics.store(this.#cells, cell(point, skipSlot), skip)
    Atomics.store(this.#cells, cell(point, failureSlot), failures.indexOf(failure) + 1)
  }

  /** A hanging write continues. */
  disarm(point: AuditFailPoint): void {
    Atomics.store(this.#cells, cell(point, failureSlot), 0)
    Atomics.notify(this.#cells, cell(point, failureSlot))
  }

  /** Called by a device at `point`: may throw a system error, wait, or never return. Returns what the caller does itself. */
  pass(point: AuditFailPoint): 'torn' | 'cut' | undefined {
    const armed = Atomics.load(this.#cells, cell(point, failureSlot))
    const failure = failures[armed - 1]
    if (failure === undefined || Atomics.sub(this.#cells, cell(point, skipSlot), 1) > 0) return undefined
    Atomics.store(this.#cells, cell(point, skipSlot), 0)
    if (failure === 'torn' || failure === 'cut') return failure
    if (failure === 'kill') process.kill(process.pid, 'SIGKILL')
    else if (failure === 'hang') Atomics.wait(this.#cells, cell(point, failureSlot), armed)
    else throw Object.assign(new Error(`injected at ${point}`), { code: failure })
    return undefined
  }
}

const cell = (point: AuditFailPoint, slot: number) => failPoints.indexOf(point) * slots + slot
