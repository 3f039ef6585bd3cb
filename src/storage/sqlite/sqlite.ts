import Database from 'better-sqlite3'
import { ServiceError } from '../../errors.ts'
import { readPages } from '../../lib/data/pages.ts'
import type { StorageFaults } from '../faults.ts'
import type { RowWrite, Step } from '../group.ts'
import { type CommitStats, GroupCommit } from '../group-commit.ts'
import { migrate } from '../migrate.ts'
import { checkKey, deleteStep, deletesPerStep, updateStep, writeStep } from '../steps.ts'
import type { BatchEntry, Change, Range, Storage, StoredRecord } from '../storage.ts'
import { engineCode, failureKind, ownCodes, storageError } from '../storage-error.ts'
import { noEvents, type StorageEvents, type StorageOperation } from '../storage-events.ts'
import { DatabaseFile } from './database-file.ts'
import type { LogState } from './log-keeper.ts'
import { RowReader, RowWriter } from './sqlite-rows.ts'

export type SqliteOptions = {
  path: string
  /** docs/settings.md, ALLOW_NETWORK_DISK. */
  allowNetworkDisk?: boolean
  /** Log size after which a checkpoint follows a commit. */
  logGoalBytes?: number
  /** Log size above which writes are refused as `storage is full`. */
  logLimitBytes?: number
  events?: StorageEvents | undefined
  /** Tests and benchmarks only. */
  faults?: StorageFaults
}

/** Number of rows or keys of one page: cheap to read, because nothing is decrypted. */
const rowsPerTurn = 1_000

export type StorageStats = CommitStats & Pick<LogState, 'checkpoints'> & StorageSize

/**
 * `databaseBytes` includes `freeBytes`, which new records use first. `logBytes` is 0 for storage in memory.
 */
export type StorageSize = { databaseBytes: number; logBytes: number; freeBytes: number }

type Engine = AsyncDisposable & {
  readonly reader: RowReader
  readonly log: Pick<LogState, 'logBytes' | 'checkpoints'>
  commit(rows: readonly RowWrite[]): Promise<void>
}

/**
 * Opens a database file and locks it against other servers until disposal. A separate thread writes, so that
 * reads do not wait for the disk. Throws a StartError if the file cannot be used.
 */
export async function openSqlite({
  path,
  allowNetworkDisk = false,
  faults,
  logGoalBytes = 4 * 1024 * 1024,
  logLimitBytes = 1024 * 1024 * 1024,
  events = noEvents,
}: SqliteOptions): Promise<SqliteStorage> {
  const file = await DatabaseFile.open({
    path,
    allowNetworkDisk,
    faults,
    logGoalBytes,
    logLimitBytes,
    events,
  })
  return new SqliteStorage(file, events)
}

/** Opens a database in memory. Disposal loses all data. */
export async function openMemory({
  faults,
  events = noEvents,
}: Pick<SqliteOptions, 'faults' | 'events'> = {}): Promise<SqliteStorage> {
  const connection = new Database(':memory:')
  migrate(connection)
  const writer = new RowWriter(connection, faults)
  const engine = {
    reader: new RowReader(connection, faults),
    commit: async (rows: readonly RowWrite[]) => guarded(() => writer.apply(rows)),
    log: { logBytes: 0, checkpoints: 0 },
    [Symbol.asyncDispose]: async () => void connection.close(),
  }
  return new SqliteStorage(engine, events)
}

function guarded<T>(work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw storageError(engineCode(cause), cause)
  }
}

/** Storage on SQLite. The calling thread decides all writes, in groups; see group-commit.ts. */
export class SqliteStorage implements Storage {
  readonly #engine: Engine
  readonly #groups: GroupCommit
  readonly #events: StorageEvents
  #whyWritesFail: string | undefined
  #closed = false

  constructor(engine: Engine, events: StorageEvents) {
    this.#engine = engine
    this.#events = events
    this.#groups = new GroupCommit({
      read: (key) => this.#watchRead(key, () => engine.reader.get(key)),
      keysUnder: (prefix, limit) => this.#watchRead(prefix, () => engine.reader.keys(prefix, { limit })),
      commit: (rows) => this.#watchCommit(engine.commit(rows)),
      onCommit: (steps, seconds) => events.committed(steps, seconds),
      lastRevision: engine.reader.lastRevision(),
    })
  }

  stats(): StorageStats {
    return { ...this.#groups.stats, checkpoints: this.#engine.log.checkpoints, ...this.size() }
  }

  size(): StorageSize {
    return { ...this.#watchRead('', () => this.#engine.reader.size()), logBytes: this.#engine.log.logBytes }
  }

  async get(key: string): Promise<StoredRecord | undefined> {
    checkKey(key)
    return this.#read('get', key, () => this.#engine.reader.get(key))
  }

  list(prefix: string, range: Range = {}): Promise<StoredRecord[]> {
    return this.#readRange(
      prefix,
      range,
      (part) => this.#engine.reader.list(prefix, part),
      ({ key }) => key,
    )
  }

  listKeys(prefix: string, range: Range = {}): Promise<string[]> {
    return this.#readRange(
      prefix,
      range,
      (part) => this.#engine.reader.keys(prefix, part),
      (key) => key,
    )
  }

  update(key: string, change: Change): Promise<void> {
    return this.#step(updateStep(key, change))
  }

  write(batch: readonly BatchEntry[]): Promise<boolean> {
    return this.#step(writeStep(batch))
  }

  async deletePrefix(prefix: string): Promise<void> {
    while ((await this.#step(deleteStep(prefix))) === deletesPerStep);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#groups.close()
    await this.#engine[Symbol.asyncDispose]()
  }

  #read<T>(operation: StorageOperation, key: string, read: () => T): T {
    if (this.#closed) throw storageError('CLOSED')
    const started = performance.now()
    const result = this.#watchRead(key, read)
    this.#events.operated(operation, (performance.now() - started) / 1000)
    return result
  }

  /** Reads, reports a failure and converts it to a storage error. */
  #watchRead<T>(key: string, read: () => T): T {
    try {
      return read()
    } catch (cause) {
      const code = engineCode(cause)
      this.#events.failed({ kind: failureKind(code), key, cause })
      throw storageError(code, cause)
    }
  }

  /** Reports each failed commit, and each time the reason why writes fail changes. */
  async #watchCommit(commit: Promise<void>): Promise<void> {
    try {
      await commit
    } catch (cause) {
      const reason = cause instanceof ServiceError ? cause.reason : undefined
      this.#events.failed({ kind: failureKind(reason ?? engineCode(cause)), cause })
      // the file watch has already reported this
      if (reason !== ownCodes.replaced)
        this.#reportWrites(cause instanceof Error ? cause.message : String(cause))
      throw cause
    }
    this.#reportWrites(undefined)
  }

  #reportWrites(reason: string | undefined): void {
    if (reason !== this.#whyWritesFail) this.#events.writesFail(reason)
    this.#whyWritesFail = reason
  }

  async #step<T>(step: Step<T>): Promise<T> {
    for (const key of step.keys) checkKey(key)
    if (step.prefix !== undefined) checkKey(step.prefix)
    const started = performance.now()
    const result = await this.#groups.run(step)
    this.#events.operated('write', (performance.now() - started) / 1000)
    return result
  }

  /** Reads a range in parts and yields to the event loop in between. The result is not a snapshot. */
  async #readRange<T>(
    prefix: string,
    range: Range,
    read: (part: Range) => T[],
    keyOf: (row: T) => string,
  ): Promise<T[]> {
    checkKey(prefix)
    if (range.after !== undefined) checkKey(range.after)
    const { after, limit = Number.POSITIVE_INFINITY } = range
    const readPage = async (part: Range) => this.#read('list', part.after ?? prefix, () => read(part))
    const size = Math.min(rowsPerTurn, limit)
    const rows: T[] = []
    for await (const page of readPages(readPage, keyOf, { after, size })) {
      rows.push(...page)
      if (rows.length >= limit) break
    }
    return rows.slice(0, limit)
  }
}
