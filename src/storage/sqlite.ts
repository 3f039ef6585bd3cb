import { closeSync, openSync, realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { ServiceError, StartError } from '../errors.ts'
import { makePrivateFolder } from '../lib/private-file.ts'
import type { StorageFaults } from './faults.ts'
import { type CommitEngine, type CommitStats, type Group, GroupCommit, type RowWrite } from './group-commit.ts'
import { holdLock } from './lock-file.ts'
import type { LogState } from './log-keeper.ts'
import { watchLog } from './log-watch.ts'
import { migrate } from './migrate.ts'
import { refuseNetworkDisk } from './network-disk.ts'
import { RowReader, RowWriter } from './sqlite-rows.ts'
import { type BatchEntry, type Change, keep, type Range, type Storage, type StoredRecord } from './storage.ts'
import { engineCode, failureKind, storageError } from './storage-error.ts'
import { noEvents, type StorageEvents } from './storage-events.ts'
import { threadLost, WriterThread } from './writer-thread.ts'

export type SqliteOptions = {
  path: string
  /** Contract operations §1, ALLOW_NETWORK_DISK. */
  allowNetworkDisk?: boolean
  /** Log size after which a checkpoint follows a commit. */
  logGoalBytes?: number
  /** Log size above which writes are refused as `storage is full`. */
  logLimitBytes?: number
  events?: StorageEvents | undefined
  /** Tests and benchmarks only. */
  faults?: StorageFaults
}

/** Rows, keys of one range that are read before the event loop gets its turn. */
const rowsPerTurn = 1_000
const deletesPerStep = 500

export type StorageStats = CommitStats & Pick<LogState, 'checkpoints'> & StorageSize

/** `databaseBytes` includes `freeBytes`, which new records will use first. `logBytes`: what the write-ahead log holds; 0 in memory. */
export type StorageSize = { databaseBytes: number; logBytes: number; freeBytes: number }

type Log = Pick<LogState, 'logBytes' | 'checkpoints'>

/**
 * A database file for one server, which keeps others out until it is disposed. Writes go through a thread of their own, so that reads never wait for
 * the disk. Throws a StartError when the file can not be used.
 */
export async function openSqlite(options: SqliteOptions): Promise<SqliteStorage> {
  const { path, allowNetworkDisk = false, faults, logGoalBytes = 4 * 1024 * 1024, logLimitBytes = 1024 * 1024 * 1024 } = options
  const { events = noEvents } = options
  await using opened = new AsyncDisposableStack()
  // one lock for one file, by whatever links it is reached
  const place = prepareFile(path)
  if (!allowNetworkDisk) await refuseNetworkDisk(dirname(place))
  opened.use(holdLock(place, path))
  const connection = openFile(path)
  opened.defer(() => void connection.close())
  const reader = new RowReader(connection)
  const data = { path, faults: faults?.shared, logGoalBytes, logLimitBytes }
  const writer = opened.use(new WriterThread(data, watchLog(events, logGoalBytes)))
  await writer.ready()
  const commit = (rows: readonly RowWrite[]) => commitSurely(writer, reader, rows)
  return new SqliteStorage(reader, { commit, log: () => writer.log }, opened.move(), events)
}

/** A thread that ended before its answer leaves the outcome open: what stands in the database decides. */
async function commitSurely(writer: WriterThread, reader: RowReader, rows: readonly RowWrite[]): Promise<void> {
  try {
    await writer.commit(rows)
  } catch (cause) {
    const isWritten = ({ key, value, revision }: RowWrite) => reader.get(key)?.revision === (value === undefined ? undefined : revision)
    const isLost = cause instanceof ServiceError && cause.reason === threadLost
    if (isLost && rows.every(isWritten)) return
    // a thread that begins cleans up what the one before it may have left in the log
    if (isLost) await writer.ready().catch(() => {})
    throw cause
  }
}

/** The same without a file: all is lost when it is disposed. */
export async function openMemory({ faults, events = noEvents }: Pick<SqliteOptions, 'faults' | 'events'> = {}): Promise<SqliteStorage> {
  const connection = new Database(':memory:')
  migrate(connection)
  const writer = new RowWriter(connection, faults)
  const commit = async (rows: readonly RowWrite[]) => guarded(() => writer.apply(rows))
  const opened = new AsyncDisposableStack()
  opened.defer(() => void connection.close())
  return new SqliteStorage(new RowReader(connection), { commit, log: () => ({ logBytes: 0, checkpoints: 0 }) }, opened, events)
}

/** Made before the engine opens it: readable by its owner only, as are the files the engine puts beside it. Gives back where it really lies. */
function prepareFile(path: string): string {
  try {
    makePrivateFolder(dirname(path))
    closeSync(openSync(path, 'a', 0o600))
    const place = realpathSync(path)
    closeSync(openSync(`${place}.lock`, 'a', 0o600))
    return place
  } catch (cause) {
    throw new StartError(2, `cannot open ${path}: ${engineCode(cause)}`, { cause })
  }
}

/** Migrated before it is switched to a log: a file that is refused stays as it was. */
function openFile(path: string): Database.Database {
  const connection = new Database(path)
  try {
    migrate(connection)
    connection.pragma('journal_mode = WAL')
    connection.pragma('synchronous = FULL')
    connection.pragma('wal_autocheckpoint = 0')
    connection.pragma('query_only = 1')
  } catch (cause) {
    connection.close()
    if (engineCode(cause) === 'SQLITE_NOTADB') throw new StartError(2, `cannot open ${path}: not a Gatehouse database`, { cause })
    throw cause
  }
  return connection
}

/** Runs engine calls; what they throw goes out in storage's own words. */
function guarded<T>(work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw storageError(engineCode(cause), cause)
  }
}

/** The port over SQLite. All decisions of writes are taken on the calling thread, in groups; see group-commit.ts. */
export class SqliteStorage implements Storage {
  readonly #reader: RowReader
  readonly #groups: GroupCommit
  readonly #log: () => Log
  readonly #opened: AsyncDisposableStack
  readonly #events: StorageEvents
  #whyWritesFail: string | undefined
  #closed = false

  constructor(reader: RowReader, writer: Pick<CommitEngine, 'commit'> & { log(): Log }, opened: AsyncDisposableStack, events: StorageEvents) {
    this.#reader = reader
    this.#log = writer.log
    this.#opened = opened
    this.#events = events
    this.#groups = new GroupCommit({
      read: (key) => this.#watchRead(key, () => reader.get(key)),
      keysUnder: (prefix, limit) => this.#watchRead(prefix, () => reader.keys(prefix, { limit })),
      commit: (rows) => this.#watchCommit(writer.commit(rows)),
      onCommit: (steps, seconds) => events.committed(steps, seconds),
      lastRevision: reader.lastRevision(),
    })
  }

  stats(): StorageStats {
    return { ...this.#groups.stats, checkpoints: this.#log().checkpoints, ...this.size() }
  }

  size(): StorageSize {
    return { ...this.#watchRead('', () => this.#reader.size()), logBytes: this.#log().logBytes }
  }

  async get(key: string): Promise<StoredRecord | undefined> {
    checkKey(key)
    return this.#read(key, () => this.#reader.get(key))
  }

  list(prefix: string, range: Range = {}): Promise<StoredRecord[]> {
    return this.#readRange(
      prefix,
      range,
      (part) => this.#reader.list(prefix, part),
      ({ key }) => key,
    )
  }

  listKeys(prefix: string, range: Range = {}): Promise<string[]> {
    return this.#readRange(
      prefix,
      range,
      (part) => this.#reader.keys(prefix, part),
      (key) => key,
    )
  }

  update(key: string, change: Change): Promise<void> {
    return this.#step([key], (group) => {
      const next = change(group.read(key)?.value)
      if (next !== keep) group.put(key, next)
    })
  }

  take(key: string): Promise<StoredRecord | undefined> {
    return this.#step([key], (group) => {
      const record = group.read(key)
      if (record !== undefined) group.put(key, undefined)
      return record
    })
  }

  write(batch: readonly BatchEntry[]): Promise<boolean> {
    const keys = batch.map(({ key }) => key)
    return this.#step(keys, (group) => {
      if (!batch.every((entry) => isAsExpected(group, entry))) return false
      for (const { key, value } of batch) group.put(key, value)
      return true
    })
  }

  putIfAbsent(key: string, value: Uint8Array): Promise<boolean> {
    return this.write([{ key, value, expect: 'absent' }])
  }

  async deletePrefix(prefix: string): Promise<void> {
    let deleted: number
    do {
      deleted = await this.#step([prefix], (group) => {
        const keys = group.keysUnder(prefix, deletesPerStep)
        for (const key of keys) group.put(key, undefined)
        return keys.length
      })
    } while (deleted === deletesPerStep)
  }

  /** Waits for the writes already asked for; later calls are refused as `storage is unavailable`. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#groups.close()
    await this.#opened.disposeAsync()
  }

  #read<T>(key: string, read: () => T): T {
    if (this.#closed) throw storageError('CLOSED')
    return this.#watchRead(key, read)
  }

  /** What the engine throws goes out in storage's own words. */
  #watchRead<T>(key: string, read: () => T): T {
    try {
      return read()
    } catch (cause) {
      const code = engineCode(cause)
      this.#events.failed({ kind: failureKind(code), key, cause })
      throw storageError(code, cause)
    }
  }

  /** Tells of each commit that fails, of the first that fails for a reason, and of the first that does not fail any more. */
  async #watchCommit(commit: Promise<void>): Promise<void> {
    try {
      await commit
    } catch (cause) {
      const reason = cause instanceof ServiceError ? cause.reason : undefined
      this.#events.failed({ kind: failureKind(reason ?? engineCode(cause)), cause })
      this.#noteWrites(cause instanceof Error ? cause.message : String(cause))
      throw cause
    }
    this.#noteWrites(undefined)
  }

  #noteWrites(reason: string | undefined): void {
    if (reason !== this.#whyWritesFail) this.#events.writesFail(reason)
    this.#whyWritesFail = reason
  }

  async #step<T>(keys: readonly string[], step: (group: Group) => T): Promise<T> {
    for (const key of keys) checkKey(key)
    return this.#groups.run(step)
  }

  /** A long range is read in parts, between which others get their turn; it is no snapshot. */
  async #readRange<T>(prefix: string, range: Range, read: (part: Range) => T[], keyOf: (row: T) => string): Promise<T[]> {
    checkKey(prefix)
    if (range.after !== undefined) checkKey(range.after)
    const wanted = range.limit ?? Number.POSITIVE_INFINITY
    const rows: T[] = []
    let after = range.after
    while (rows.length < wanted) {
      const limit = Math.min(rowsPerTurn, wanted - rows.length)
      const part = this.#read(after ?? prefix, () => read({ limit, ...(after === undefined ? {} : { after }) }))
      for (const row of part) rows.push(row)
      const last = part.at(-1)
      if (part.length < limit || last === undefined) break
      after = keyOf(last)
      if (rows.length < wanted) await nextTurn()
    }
    return rows
  }
}

/** Text that is not well-formed would change on its way through UTF-8, and two names would meet in one key. */
function checkKey(key: string): void {
  if (!key.isWellFormed()) throw new ServiceError('invalid', 'a name is not well-formed Unicode text')
}

function isAsExpected(group: Group, { key, expect }: BatchEntry): boolean {
  if (expect === undefined) return true
  const record = group.read(key)
  return expect === 'absent' ? record === undefined : record?.revision === expect
}
