import { Thread } from '../../lib/concurrency/thread.ts'
import { within } from '../../lib/concurrency/within.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { CoreLog } from '../core-log.ts'
import type { StoredHead } from './chain-keys.ts'
import { chainRecord } from './chain-records.ts'
import { checkpointRecord, type Sign } from './checkpoint.ts'
import type { DeviceAnswers, WorkerData, WorkerReply, WorkerRequest } from './device-worker.ts'
import type { SinkTarget } from './sink.ts'
import { UnsignedPart } from './unsigned-part.ts'

/** One audit device: appends lines to its chain. docs/contract/audit.md#devices */
export type AuditDevice = AsyncDisposable & {
  /**
   * Appends the text of one JSON object; the device adds the chain member. Resolves once it is written, as the
   * setting AUDIT_SYNC says; rejects with a DeviceError if the device has failed or is late.
   */
  write(line: string): Promise<void>
  /** Writes what comes next to a new file, if the old one was renamed. */
  reopen(): Promise<void>
  /** Whether the last write succeeded within the time limit. */
  readonly isUp: boolean
  /** Resolves when the device has been opened or has failed; a failed device is tried again. */
  readonly opened: Promise<void>
}

export type DeviceSettings = {
  /** The device's path, such as `file/`. */
  readonly path: string
  readonly target: SinkTarget
  /** When written lines are synced: every second, or before a write resolves. */
  readonly sync: 'interval' | 'always'
}

export type DeviceParts = {
  readonly clock: Clock
  readonly log: CoreLog
  readonly replica: string
  readonly sign: Sign
  readonly chainHead: StoredHead | undefined
  storeHead(head: StoredHead): Promise<void>
  /** Called when the device fails and when it is back. */
  onState?(isUp: boolean): void
  /** Fault injection, for tests. */
  readonly faults?: SharedArrayBuffer | undefined
}

export type DeviceTiming = {
  /** A write that takes longer has failed. */
  readonly deadlineMs: number
  /** How often the path is compared, the file synced, and a failed device tried again. */
  readonly checkMs: number
  /** When the first record since a checkpoint gets one. */
  readonly checkpointMs: number
}

export const deviceTiming: DeviceTiming = { deadlineMs: 2_000, checkMs: 1_000, checkpointMs: 10_000 }

/** A device that did not write a line. `code` is the system's, such as `ENOSPC`, or `ETIMEDOUT`. */
class DeviceError extends Error {
  override readonly name = 'DeviceError'
  readonly code: string

  constructor(path: string, code: string, message: string) {
    super(`audit device ${path}: ${message}`)
    this.code = code
  }
}

/** Opens a device. Its first lines wait until it is open, or has failed. */
export const openDevice = (
  settings: DeviceSettings,
  parts: DeviceParts,
  timing: DeviceTiming = deviceTiming,
): AuditDevice => new ThreadDevice(settings, parts, timing)

/** A device that this server cannot open: no line can be written. */
export function closedDevice(path: string, cause: unknown): AuditDevice {
  const text = cause instanceof Error ? cause.message : 'it cannot be opened here'
  return {
    isUp: false,
    opened: Promise.resolve(),
    write: () => Promise.reject(new DeviceError(path, 'EACCES', text)),
    reopen: async () => {},
    [Symbol.asyncDispose]: async () => {},
  }
}

type Waiting = {
  readonly line: string
  readonly since: number
  resolve(): void
  reject(cause: DeviceError): void
}

type Step = {
  /** Whether to look for the file at its path and to sync it. */
  readonly isCheck?: boolean
  readonly event?: 'rotate' | 'close'
  /** Signs the last record, and then closes; writes no lines. */
  readonly end?: 'reopen' | 'close'
}

/** `code` of a request whose thread ended before it answered. */
const threadLost = 'THREAD_LOST'
/** How long a thread may take to end after its last answer. */
const stopMs = 500
/** How late a timer usually is at most. */
const longestDelayMs = 50
const maxWaitingLength = 16 * 1024 * 1024
const maxBatchLength = 4 * 1024 * 1024

/**
 * Collects the lines of one turn of the event loop, and those that come while the thread writes, for one
 * request to the thread.
 */
class ThreadDevice implements AuditDevice {
  readonly #settings: DeviceSettings
  readonly #parts: DeviceParts
  readonly #timing: DeviceTiming
  readonly opened: Promise<void>
  readonly #thread: Thread<DeviceAnswers>
  /** What a thread begins with: one that replaces another continues its chain. */
  #data: WorkerData
  readonly #checks: NodeJS.Timeout
  readonly #chain: UnsignedPart
  #work: Promise<void> = Promise.resolve()
  #waiting: Waiting[] = []
  #waitingLength = 0
  #isFlushPending = false
  #isCheckPending = false
  #writing: readonly Waiting[] = []
  #deadline: NodeJS.Timeout | undefined
  #failure: DeviceError | undefined
  /** Late, and since then without a successful write. */
  #isLate = false
  #isClosed = false
  /** The number of lines that were not written since the last gap record. */
  #missed = 0
  #storing: Promise<void> = Promise.resolve()

  constructor(settings: DeviceSettings, parts: DeviceParts, timing: DeviceTiming) {
    this.#settings = settings
    this.#parts = parts
    this.#timing = timing
    const { chainHead, faults } = parts
    this.#chain = new UnsignedPart(chainHead, timing.checkpointMs)
    this.#data = {
      target: settings.target,
      syncsAlways: settings.sync === 'always',
      stored: chainHead && { ...chainHead, isFinal: chainHead.is_final },
      deadlineMs: timing.deadlineMs,
      faults,
    }
    this.#thread = new Thread({
      program: new URL('./device-worker.ts', import.meta.url),
      name: 'audit',
      mayBlock: true,
      data: () => this.#data,
    })
    this.#checks = setInterval(() => this.#check(), timing.checkMs).unref()
    this.opened = this.#withinDeadline(this.#exclusive(() => this.#step({})))
  }

  get isUp(): boolean {
    return this.#failure === undefined
  }

  write(line: string): Promise<void> {
    if (this.#isClosed) return Promise.reject(this.#error('CLOSED', 'the device is closed'))
    if (this.#isLate || this.#waitingLength > maxWaitingLength) {
      this.#missed += 1
      return Promise.reject(this.#failure ?? this.#error('EAGAIN', 'too many lines are waiting'))
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ line, since: performance.now(), resolve, reject })
      this.#waitingLength += line.length
      this.#flushSoon()
    })
  }

  async reopen(): Promise<void> {
    if (this.#settings.target.kind !== 'file') return
    await this.#withinDeadline(
      this.#exclusive(async () => {
        await this.#step({ event: 'rotate' })
        await this.#step({ end: 'reopen' })
      }),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    clearInterval(this.#checks)
    const closing = this.#exclusive(async () => {
      while (this.#waiting.length > 0 && this.isUp) await this.#step({})
      await this.#step({ event: 'close' })
      await this.#step({ end: 'close' })
      await this.#storing
    })
    // a late device cannot be waited for
    if (!this.#isLate) await this.#withinDeadline(closing)
    await this.#thread.stop(stopMs)
    this.#refuseWaiting(this.#error('CLOSED', 'the device is closed'))
  }

  #exclusive(work: () => Promise<void>): Promise<void> {
    this.#work = this.#work.then(work)
    return this.#work
  }

  /** After the current turn, so that all its lines go together. */
  #flushSoon(): void {
    if (this.#isFlushPending) return
    this.#isFlushPending = true
    setImmediate(() => void this.#exclusive(() => this.#flush()))
  }

  /** One step at a time, so that checks are not delayed while lines keep coming. */
  async #flush(): Promise<void> {
    // closing has written what was waiting, and the thread has ended
    if (this.#isClosed) return
    await this.#step({})
    const isSignatureDue = this.isUp && (this.#missed > 0 || this.#chain.isDue)
    this.#isFlushPending = this.#waiting.length > 0 || isSignatureDue
    if (this.#isFlushPending) void this.#exclusive(() => this.#flush())
  }

  #check(): void {
    if (this.#isCheckPending) return
    this.#isCheckPending = true
    void this.#exclusive(async () => {
      if (!this.#isClosed) await this.#step({ isCheck: true })
      this.#isCheckPending = false
    })
  }

  async #step(step: Step): Promise<void> {
    const { isCheck = false, event, end } = step
    const time = new Date(this.#parts.clock.now()).toISOString()
    const checkpoint = this.#checkpoint(time, end !== undefined)
    const missed = end === undefined ? this.#missed : 0
    this.#writing = end === undefined ? this.#take(checkpoint !== undefined) : []
    const gap = missed === 0 ? [] : [chainRecord(time, { event: 'gap', missed })]
    const last = event === undefined ? [] : [chainRecord(time, { event })]
    const records = [...gap, ...this.#writing.map(({ line }) => line), ...last]
    const elapsedMs = performance.now() - (this.#writing[0]?.since ?? performance.now())
    const { deadlineMs } = this.#timing
    // lines may have waited for this thread instead of the device
    this.#startDeadline(Math.max(deadlineMs / 2, deadlineMs - elapsedMs))
    const isSynced = checkpoint !== undefined || end !== undefined
    const reply = await this.#ask({ time, isCheck, checkpoint, isSynced, end, records: records.join('\n') })
    clearTimeout(this.#deadline)
    this.#settle(reply, gap.length, missed)
    this.#chain.advance(reply.head, reply.checkpoint)
    if (reply.failure === undefined && reply.checkpoint !== undefined)
      this.#store({ ...reply.checkpoint, time, is_final: end === 'close' })
  }

  /** Never rejects. */
  async #ask(request: WorkerRequest): Promise<WorkerReply> {
    try {
      const reply = await this.#thread.ask('run', request)
      if (reply.head !== undefined) this.#data = { ...this.#data, stored: { ...reply.head, isFinal: false } }
      return reply
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : ''
      return { written: 0, checkpoint: undefined, head: undefined, failure: { code: threadLost, message } }
    }
  }

  /** Takes lines up to the next checkpoint. */
  #take(isSigned: boolean): Waiting[] {
    const most = this.#settings.target.kind === 'http' ? 1 : this.#chain.roomAfter(isSigned)
    let count = 0
    let length = 0
    for (const { line } of this.#waiting) {
      length += line.length
      if (count >= most || (count > 0 && length > maxBatchLength)) break
      count += 1
      this.#waitingLength -= line.length
    }
    return this.#waiting.splice(0, count)
  }

  #checkpoint(time: string, isForced: boolean): WorkerRequest['checkpoint'] {
    const head = this.#chain.head
    if (head === undefined || !(isForced ? this.#chain.count > 0 : this.#chain.isDue)) return undefined
    const { replica, sign } = this.#parts
    const named = { time, device: this.#settings.path, replica }
    return { seq: head.seq, record: checkpointRecord(head, named, sign) }
  }

  #settle({ written, failure }: WorkerReply, gaps: number, missed: number): void {
    const lines = this.#writing
    this.#writing = []
    const done = Math.max(0, written - gaps)
    if (written >= gaps) this.#missed -= missed
    for (const { resolve } of lines.slice(0, done)) resolve()
    if (failure === undefined) {
      this.#succeeded()
      return
    }
    const error = this.#error(failure.code, failure.message)
    const lost = lines.slice(done)
    this.#missed += lost.length
    for (const { reject } of lost) reject(error)
    this.#failed(error)
  }

  #startDeadline(remainingMs: number, isExtended = false): void {
    const due = performance.now() + remainingMs
    const passed = () => {
      const heldUpMs = performance.now() - due
      // the process was stopped, or this thread was busy: the answer may be waiting
      if (heldUpMs > longestDelayMs && !isExtended) this.#startDeadline(this.#timing.deadlineMs, true)
      else this.#becomeLate()
    }
    this.#deadline = setTimeout(passed, remainingMs).unref()
  }

  #becomeLate(): void {
    const error = this.#error('ETIMEDOUT', `no answer within ${this.#timing.deadlineMs} ms`)
    this.#isLate = true
    this.#failed(error)
    for (const { reject } of this.#writing) reject(error)
    this.#refuseWaiting(error)
  }

  #refuseWaiting(error: DeviceError): void {
    this.#missed += this.#waiting.length
    this.#waitingLength = 0
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }

  #failed(error: DeviceError): void {
    const wasUp = this.isUp
    this.#failure = error
    if (!wasUp) return
    const { code, message } = error
    this.#parts.log.error({ event: 'audit_failed', device: this.#settings.path, code }, message)
    this.#parts.onState?.(false)
  }

  #succeeded(): void {
    const wasUp = this.isUp
    this.#failure = undefined
    this.#isLate = false
    if (this.#missed > 0) this.#flushSoon()
    if (wasUp) return
    const { path } = this.#settings
    this.#parts.log.info({ event: 'audit_back', device: path }, `audit device ${path} is back`)
    this.#parts.onState?.(true)
  }

  #store(head: StoredHead): void {
    const { log, storeHead } = this.#parts
    const { id, seq, hash } = head
    const device = this.#settings.path
    log.info({ event: 'audit_head', device, id, seq, hash }, 'signed an audit checkpoint')
    this.#storing = storeHead(head).catch((err: unknown) =>
      log.warn({ event: 'audit_head_unstored', device, err }, 'could not store the head of an audit chain'),
    )
  }

  #error(code: string, message: string): DeviceError {
    return new DeviceError(this.#settings.path, code, message)
  }

  /** Resolves with `work`, or when the time limit has passed. */
  async #withinDeadline(work: Promise<void>): Promise<void> {
    await within(this.#timing.deadlineMs, work)
  }
}
