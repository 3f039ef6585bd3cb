import { engineCode, ownCodes } from '../storage-error.ts'
import type { StorageEvents } from '../storage-events.ts'
import type { WritingConnection } from './writing-connection.ts'

export type LogLimits = {
  /** Amount of log without a checkpoint above which a commit triggers one. */
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
  /** Free disk space when last queried; a checkpoint may use some of it. */
  #lastFreeBytes = 0

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
   * Must be called before a commit of `groupBytes`. Throws, with the reason in the message, if the log may
   * not grow. If the log is empty and space is low, it only allows writes that need no new pages, because a
   * log on a full disk could never be emptied.
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

  /** Must be called after a commit and, with a smaller goal, when idle. */
  checkpointAbove(connection: WritingConnection, goalBytes = this.#goalBytes): void {
    if (connection.pendingBytes <= goalBytes) return
    this.#checkpoint(connection)
    this.#goalBytes = connection.pendingBytes + this.#limits.logGoalBytes
  }

  /** A failure does not prevent writes: the log is intact, and a later checkpoint retries. */
  #checkpoint(connection: WritingConnection): void {
    try {
      this.#lastFreeBytes = 0
      connection.checkpoint()
      this.#checkpoints += 1
      this.#failure = undefined
    } catch (cause) {
      this.#failedCheckpoints += 1
      this.#failure = engineCode(cause)
    }
  }

  /**
   * Why the log is too large, in words without changing numbers; undefined if it may grow. For a checkpoint
   * to be able to empty the log, the free disk space must hold the whole log again and twice the pages of
   * this group. While the log is small and space is ample, the disk is queried only once.
   */
  #excess(logBytes: number, groupBytes: number): string | undefined {
    const { logGoalBytes, logLimitBytes } = this.#limits
    if (logBytes > logLimitBytes)
      return `the write-ahead log has reached its limit of ${logLimitBytes / bytesPerMiB} MiB`
    const neededBytes = logBytes + 4 * groupBytes + marginBytes
    // the log may have used some of the space since the last query
    if (logBytes <= logGoalBytes / 4 && logBytes + neededBytes <= this.#lastFreeBytes) return undefined
    this.#lastFreeBytes = this.#freeBytes()
    return neededBytes > this.#lastFreeBytes
      ? 'the write-ahead log needs the remaining disk space'
      : undefined
  }
}

/** The log is unusually large from this multiple of its goal. */
const unusualGoals = 16

/** Returns a function that takes successive states of the log and emits events about their changes. */
export function watchLog(events: StorageEvents, logGoalBytes: number): (log: LogState) => void {
  let failures = 0
  let failure: string | undefined
  let reportedBytes: number | undefined
  return ({ logBytes, failedCheckpoints, checkpointFailure }) => {
    // a new thread starts counting at 0
    const known = failedCheckpoints < failures ? 0 : failures
    for (let count = known; count < failedCheckpoints; count++) {
      events.failed({ kind: 'checkpoint', cause: new Error(`a checkpoint failed with ${checkpointFailure}`) })
    }
    failures = failedCheckpoints
    if (checkpointFailure !== failure) events.checkpointsFail(checkpointFailure)
    failure = checkpointFailure
    const isUnusual = logBytes >= unusualGoals * logGoalBytes
    if (isUnusual && logBytes >= 2 * (reportedBytes ?? 0)) {
      reportedBytes = logBytes
      events.logGrows(logBytes)
    }
    if (!isUnusual && reportedBytes !== undefined) {
      reportedBytes = undefined
      events.logGrows(undefined)
    }
  }
}
