import { closeSync, openSync, realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { ServiceError, StartError } from '../errors.ts'
import { makePrivateFolder } from '../lib/private-file.ts'
import type { StorageFaults } from './faults.ts'
import { type CommitEngine, type CommitStats, type Group, GroupCommit, type RowWrite } from './group-commit.ts'
import { holdLock } from './lock-file.ts'
import { migrate } from './migrate.ts'
import { refuseNetworkDisk } from './network-disk.ts'
import { RowReader, RowWriter } from './sqlite-rows.ts'
import { type BatchEntry, type Change, keep, type Range, type Storage, type StoredRecord } from './storage.ts'
import { engineCode, storageError } from './storage-error.ts'
import { threadLost, WriterThread } from './writer-thread.ts'

export type SqliteOptions = {
  path: string
  /** Contract operations §1, ALLOW_NETWORK_DISK. */
  allowNetworkDisk?: boolean
  /** Log size after which a checkpoint follows a commit. */
  logGoalBytes?: number
  /** Log size above which writes are refused as `storage is full`. */
  logLimitBytes?: number
  /** Told why writes fail when they begin to, and undefined when they work again. */
  writesFail?: ((reason: string | undefined) => void) | undefined
  /** Tests and benchmarks only. */
  faults?: StorageFaults
}

/** Rows, keys of one range that are read before the event loop gets its turn. */
const rowsPerTurn = 1_000
const deletesPerStep = 500

/** `logBytes`: size of the write-ahead log; 0 in memory. */
export type StorageStats = CommitStats & { logBytes: number; checkpoints: number }

type Log = Pick<StorageStats, 'logBytes' | 'checkpoints'>

/**
 * A database file for one server, which keeps others out until it is disposed. Writes go through a thread of their own, so that reads never wait for
 * the disk. Throws a StartError when the file can not be used.
 */
export async function openSqlite(options: SqliteOptions): Promise<SqliteStorage> {
  const { path, allowNetworkDisk = false, faults, logGoalBytes = 4 * 1024 * 1024, logLimitBytes = 1024 * 1024 * 1024 } = options
  await using opened = new AsyncDisposableStack()
  // one lock for one file, by whatever links it is reached
  const place = prepareFile(path)
  if (!allowNetworkDisk) await refuseNetworkDisk(dirname(place))
  opened.use(holdLock(place, path))
  const connection = openFile(path)
  opened.defer(() => void connection.close())
  const reader = new RowReader(connection)
  const writer = opened.use(new WriterThread({ path, faults: faults?.shared, logGoalBytes, logLimitBytes }))
  await writer.ready()
  const watched = watching(options.writesFail)
  return new SqliteStorage(reader, { commit: (rows) => watched(commitSurely(writer, reader, rows)), log: () => writer.log }, opened.move())
}

/** Passes commits on and tells of the first that fails for a reason, and of the first that does not fail any more. */
function watching(tell: SqliteOptions['writesFail'] = () => {}): (commit: Promise<void>) => Promise<void> {
  let told: string | undefined
  const note = (reason: string | undefined) => {
    if (reason !== told) tell(reason)
    told = reason
  }
  return async (commit) => {
    try {
      await commit
    } catch (cause) {
      note(cause instanceof Error ? cause.message : String(cause))
      throw cause
    }
    note(undefined)
  }
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
export async function openMemory({ faults }: Pick<SqliteOptions, 'faults'> = {}): Promise<SqliteStorage> {
  const connection = new Database(':memory:')
  migrate(connection)
  const writer = new RowWriter(connection, faults)
  const commit = async (rows: readonly RowWrite[]) => guarded(() => writer.apply(rows))
  const opened = new AsyncDisposableStack()
  opened.defer(() => void connection.close())
  return new SqliteStorage(new RowReader(connection), { commit, log: () => ({ logBytes: 0, checkpoints: 0 }) }, opened)
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
  #closed = false

  constructor(reader: RowReader, writer: Pick<CommitEngine, 'commit'> & { log(): Log }, opened: AsyncDisposableStack) {
    this.#reader = reader
    this.#log = writer.log
    this.#opened = opened
    this.#groups = new GroupCommit({
      read: (key) => guarded(() => reader.get(key)),
      keysUnder: (prefix, limit) => guarded(() => reader.keys(prefix, { limit })),
      commit: writer.commit,
      lastRevision: reader.lastRevision(),
    })
  }

  stats(): StorageStats {
    return { ...this.#groups.stats, ...this.#log() }
  }

  async get(key: string): Promise<StoredRecord | undefined> {
    checkKey(key)
    return this.#read(() => this.#reader.get(key))
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

  #read<T>(read: () => T): T {
    if (this.#closed) throw storageError('CLOSED')
    return guarded(read)
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
      const part = this.#read(() => read({ limit, ...(after === undefined ? {} : { after }) }))
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
