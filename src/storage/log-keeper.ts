import { engineCode, ownCodes } from './storage-error.ts'
import type { WritingConnection } from './writing-connection.ts'

export type LogLimits = {
  /** Pending log above which a checkpoint follows a commit. */
  readonly logGoalBytes: number
  /**
   * Log size above which writes are refused. The log grows while another program reads or checkpoints fail.
   */
  readonly logLimitBytes: number
}

/** State of the log after the last commit or checkpoint. */
export type LogState = {
  readonly logBytes: number
  readonly checkpoints: number
  readonly failedCheckpoints: number
  /** The engine's code for the last checkpoint, if it failed. */
  readonly checkpointFailure: string | undefined
}

const bytesPerMiB = 1024 * 1024
const marginBytes = 128 * 1024

/**
 * Copies the write-ahead log into the database between commits, and stops writes before the log fills the
 * disk.
 */
export class LogKeeper {
  readonly #limits: LogLimits
  readonly #freeBytes: () => number
  #checkpoints = 0
  #failedCheckpoints = 0
  #failure: string | undefined
  /** Grows while the log cannot be reset, so that not every commit triggers a checkpoint. */
  #goalBytes: number
  /** Of the disk, when it was last asked; a checkpoint takes from it. */
  #roomBytes = 0

  constructor(limits: LogLimits, freeBytes: () => number) {
    this.#limits = limits
    this.#freeBytes = freeBytes
    this.#goalBytes = limits.logGoalBytes
  }

  state(connection: WritingConnection | undefined): LogState {
    return {
      logBytes: connection?.logBytes ?? 0,
      checkpoints: this.#checkpoints,
      failedCheckpoints: this.#failedCheckpoints,
      checkpointFailure: this.#failure,
    }
  }

  get doCheckpointsFail(): boolean {
    return this.#failure !== undefined
  }

  /**
   * Before a commit of `groupBytes`. Throws, with the reason in words, when the log may not grow further.
   * With an empty log and little room, only what needs no new pages can be written: the disk must not run
   * full with a log that cannot be emptied.
   */
  makeRoom(connection: WritingConnection, groupBytes: number): void {
    let excess = this.#excess(connection.logBytes, groupBytes)
    if (excess !== undefined) {
      this.#checkpoint(connection)
      excess = this.#excess(connection.pendingBytes === 0 ? 0 : connection.logBytes, groupBytes)
    }
    connection.allowGrowth(excess === undefined)
    if (excess === undefined || connection.pendingBytes === 0) return
    const cause =
      this.#failure === undefined
        ? 'another program keeps reading the database'
        : `checkpoints fail with ${this.#failure}`
    throw Object.assign(new Error(`${excess}, because ${cause}`), { code: ownCodes.logFull })
  }

  /** Call after a commit and, with a smaller goal, when idle. */
  tend(connection: WritingConnection, goalBytes = this.#goalBytes): void {
    if (connection.pendingBytes <= goalBytes) return
    this.#checkpoint(connection)
    this.#goalBytes = connection.pendingBytes + this.#limits.logGoalBytes
  }

  /** A failure does not prevent writes: the log is intact, and a later checkpoint retries. */
  #checkpoint(connection: WritingConnection): void {
    try {
      this.#roomBytes = 0
      connection.checkpoint()
      this.#checkpoints += 1
      this.#failure = undefined
    } catch (cause) {
      this.#failedCheckpoints += 1
      this.#failure = engineCode(cause)
    }
  }

  /**
   * What is too much about the log, in words without figures that change. What is left of the disk must hold
   * the whole log once more, and twice the pages of this group: then a checkpoint can still empty the log.
   * The disk is asked once about a small log with ample room.
   */
  #excess(logBytes: number, groupBytes: number): string | undefined {
    const { logGoalBytes, logLimitBytes } = this.#limits
    if (logBytes > logLimitBytes)
      return `the write-ahead log has reached its limit of ${logLimitBytes / bytesPerMiB} MiB`
    const neededBytes = logBytes + 4 * groupBytes + marginBytes
    // the log has taken from the room since then
    if (logBytes <= logGoalBytes / 4 && logBytes + neededBytes <= this.#roomBytes) return undefined
    this.#roomBytes = this.#freeBytes()
    return neededBytes > this.#roomBytes
      ? 'the write-ahead log needs the room that is left on the disk'
      : undefined
  }
}
