import type { Log } from '../log/log.ts'
import { StorageCounters } from '../metrics/storage-counters.ts'
import type { StorageEvents } from '../storage/storage-events.ts'

/** Converts storage events to log lines, metrics and the readiness state. */
export class StorageWatch {
  readonly counters = new StorageCounters()
  readonly events: StorageEvents
  readonly #log: Log
  /** Whether damage was found since the start; only a restart resets this. */
  #isDamaged = false
  #isFileLost = false
  #areWritesFailing = false

  /** `traced` is called after each operation too. */
  constructor(log: Log, traced?: (operation: string, seconds: number) => void) {
    this.#log = log
    this.events = {
      operated: (operation, seconds) => {
        this.counters.operated(operation, seconds)
        traced?.(operation, seconds)
      },
      committed: (steps, seconds) => this.counters.committed(steps, seconds),
      failed: ({ kind, key, cause }) => {
        this.counters.failed(kind)
        if (kind !== 'corrupt' && key === undefined) return
        if (kind === 'corrupt') this.#isDamaged = true
        this.#log.error(
          { event: kind === 'corrupt' ? 'storage_damaged' : 'storage_read_failed', key, err: cause },
          textOf(kind),
        )
      },
      writesFail: (reason) => {
        this.#areWritesFailing = reason !== undefined
        if (reason === undefined) this.#log.info({ event: 'storage_back' }, 'writes work again')
        else this.#log.error({ event: 'storage_lost', reason }, 'writes fail')
      },
      checkpointsFail: (code) => {
        if (code === undefined) this.#log.info({ event: 'checkpoints_back' }, 'checkpoints work again')
        else
          this.#log.error(
            { event: 'checkpoints_lost', reason: code },
            'checkpoints fail: the write-ahead log grows with every write',
          )
      },
      logGrows: (bytes) => {
        if (bytes === undefined)
          this.#log.info({ event: 'storage_log_small' }, 'the write-ahead log is small again')
        else this.#log.warn({ event: 'storage_log_grows', bytes }, 'the write-ahead log is unusually large')
      },
      fileLost: (reason) => {
        this.#isFileLost = reason !== undefined
        if (reason === undefined)
          this.#log.info({ event: 'storage_back' }, 'the opened database is in place again')
        else
          this.#log.error(
            { event: 'storage_lost', reason },
            'the database file was replaced: writes are refused',
          )
      },
    }
  }

  get areWritesFailing(): boolean {
    return this.#areWritesFailing
  }

  /** Whether no damage was found and the database was not replaced. */
  isSound(): boolean {
    return !this.#isDamaged && !this.#isFileLost
  }

  recordUnreadable(): void {
    this.counters.failed('record')
  }
}

const textOf = (kind: string) =>
  kind === 'corrupt'
    ? 'the database is damaged: restore a backup, or repair it with the tools of SQLite'
    : 'a record could not be read'
