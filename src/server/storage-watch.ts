import type { Log } from '../log/log.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { StorageEvents } from '../storage/storage-events.ts'

/** What the log says of something: `event` and text. */
type Line = readonly [event: string, text: string]

/** Converts storage events to log lines, metrics and the readiness state. */
export class StorageWatch {
  readonly events: StorageEvents
  readonly #log: Log
  readonly #metrics: Metrics
  /** Whether damage was found since the start; only a restart resets this. */
  #isDamaged = false
  #isFileLost = false
  #areWritesFailing = false

  /** `traced` is called after each operation too. */
  constructor(log: Log, metrics: Metrics, traced?: (operation: string, seconds: number) => void) {
    this.#log = log
    this.#metrics = metrics
    this.events = {
      operated: (operation, seconds) => {
        metrics.storageOperated(operation, seconds)
        traced?.(operation, seconds)
      },
      committed: (steps, seconds) => metrics.storageCommitted(steps, seconds),
      failed: ({ kind, key, cause }) => {
        metrics.storageFailed(kind)
        if (kind !== 'corrupt' && key === undefined) return
        if (kind === 'corrupt') this.#isDamaged = true
        const event = kind === 'corrupt' ? 'storage_damaged' : 'storage_read_failed'
        log.error({ event, key, err: cause }, textOf(kind))
      },
      writesFail: (reason) => {
        this.#areWritesFailing = reason !== undefined
        this.#tell(reason, ['storage_lost', 'writes fail'], ['storage_back', 'writes work again'])
      },
      checkpointsFail: (code) =>
        this.#tell(
          code,
          ['checkpoints_lost', 'checkpoints fail: the write-ahead log grows with every write'],
          ['checkpoints_back', 'checkpoints work again'],
        ),
      logGrows: (bytes) => {
        if (bytes === undefined)
          log.info({ event: 'storage_log_small' }, 'the write-ahead log is small again')
        else log.warn({ event: 'storage_log_grows', bytes }, 'the write-ahead log is unusually large')
      },
      fileLost: (reason) => {
        this.#isFileLost = reason !== undefined
        this.#tell(
          reason,
          ['storage_lost', 'the database file was replaced: writes are refused'],
          ['storage_back', 'the opened database is in place again'],
        )
      },
    }
  }

  /** Logs that something is lost for this reason, or without one that it is back. */
  #tell(reason: string | undefined, [lost, lostText]: Line, [back, backText]: Line): void {
    if (reason === undefined) this.#log.info({ event: back }, backText)
    else this.#log.error({ event: lost, reason }, lostText)
  }

  get areWritesFailing(): boolean {
    return this.#areWritesFailing
  }

  /** Whether no damage was found and the database was not replaced. */
  isSound(): boolean {
    return !this.#isDamaged && !this.#isFileLost
  }

  recordUnreadable(): void {
    this.#metrics.storageFailed('record')
  }
}

const textOf = (kind: string) =>
  kind === 'corrupt'
    ? 'the database is damaged: restore a backup, or repair it with the tools of SQLite'
    : 'a record could not be read'
