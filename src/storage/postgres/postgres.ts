import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { ServiceError, StartError } from '../../errors.ts'
import { systemReason } from '../../lib/system/private-file.ts'
import { refuseMarked } from '../copy-marks.ts'
import type { Step } from '../group.ts'
import {
  currentFence,
  type Fence,
  type Replica as LiveReplica,
  type SharedStorage,
} from '../shared-storage.ts'
import { checkKey, deleteStep, deletesPerStep, updateStep, writeStep } from '../steps.ts'
import type { BatchEntry, Change, Range, Storage, StoredRecord, WriteOptions } from '../storage.ts'
import { engineCode, failureKind } from '../storage-error.ts'
import { noEvents, type StorageEvents, type StorageOperation } from '../storage-events.ts'
import { textArray } from './array-parameter.ts'
import { Batches } from './batches.ts'
import { ChangesFeed } from './changes-feed.ts'
import { readMarks } from './copy-end.ts'
import { endsConnections, failureOf, isConnectionFailure, isLasting, isRefusal } from './failures.ts'
import { GroupWriter } from './group-writer.ts'
import { migratePostgres } from './migrations.ts'
import { Pool } from './pool.ts'
import { RangeReader, recordOf, recordReader } from './reader.ts'
import { liveMs, Replica } from './replica.ts'
import { type ConnectionSettings, openSession, type Row, type Session } from './session.ts'
import { listKeys, listRecords, type Statement, statements } from './statements.ts'

export type PostgresOptions = {
  readonly connection: Omit<ConnectionSettings, 'applicationName'>
  /** Number of connections, that for changes included. */
  readonly pool: number
  readonly notifies: boolean
  readonly pollMs: number
  readonly replicaName: string
  readonly events?: StorageEvents | undefined
  /** Monotonic milliseconds. */
  steady?(): number
  /** How long a listener for changes may take. Changed by tests only. */
  readonly listenerMs?: number
  /** Ends the wait for a database that is not there. */
  readonly stopping?: AbortSignal | undefined
  /** Why no tables may be made in a database that has none. */
  refusalOfNew?(): StartError | undefined
}

type WantedJob = { readonly job: string; readonly ttlMs: number }

const reconnectMs = 500
const changesTimeoutMs = 1_000
const usualListenerMs = 10_000
/** A listener that was late is told again once it has ended, and may then be late once more. */
const patience = 3

/**
 * Opens a database that several servers share, and registers this one. Waits while the database is not
 * there. Throws a StartError if it cannot be used, and the signal's reason if the wait was ended.
 */
export async function openPostgres(options: PostgresOptions): Promise<PostgresStorage> {
  checkFiles(options.connection)
  const storage = new PostgresStorage(options)
  try {
    await storage.open(options)
    return storage
  } catch (cause) {
    await storage[Symbol.asyncDispose]()
    throw cause
  }
}

/** Storage on PostgreSQL. docs/storage.md#postgresql, docs/replicas.md */
export class PostgresStorage implements Storage, SharedStorage {
  readonly replicaId = randomUUID()
  readonly copies: ChangesFeed
  readonly shared = this
  readonly #connection: ConnectionSettings
  readonly #pool: Pool
  readonly #reader: ReturnType<typeof recordReader>
  readonly #records: RangeReader<StoredRecord>
  readonly #keys: RangeReader<string>
  readonly #writer: GroupWriter
  readonly #replica: Replica
  readonly #events: StorageEvents
  /** A server begins all its jobs at once, and renews them together from then on. */
  readonly #jobs = new Batches((wanted: readonly WantedJob[]) => this.#hold(wanted))
  #isRegistered = false
  /** Raised with each registration, once copies are current; undefined: nothing may be written. */
  #registration: number | undefined
  #registrations = 0
  /** The last version whose listeners had finished before every write under way began. */
  #versionSeen = 0
  #seen: Promise<void> = Promise.resolve()
  #answering: Promise<void> | undefined
  #registering: Promise<void> | undefined
  /** Why calls fail, if they do. */
  #failing: { readonly endsWithReads: boolean; readonly isRefusal: boolean } | undefined
  #closed = false

  constructor(options: PostgresOptions) {
    const { events = noEvents, notifies, pollMs, replicaName, steady = () => performance.now() } = options
    const { listenerMs = usualListenerMs } = options
    this.#events = events
    this.#connection = { ...options.connection, applicationName: `gatehouse ${replicaName}`.slice(0, 63) }
    this.#pool = new Pool(() => openSession(this.#connection), Math.max(1, options.pool - 1))
    this.#reader = recordReader(this.#pool)
    const pool = this.#pool
    this.#records = new RangeReader({
      pool,
      statements: listRecords,
      itemOf: recordOf,
      keyOf: ({ key }) => key,
    })
    this.#keys = new RangeReader({
      pool,
      statements: listKeys,
      itemOf: ([key]) => String(key),
      keyOf: (key) => key,
    })
    const shared = {
      replicaId: this.replicaId,
      onFenced: () => this.#fenced(),
      onFailure: (cause: unknown) => this.#failed(cause),
    }
    this.#writer = new GroupWriter({
      ...shared,
      pool: this.#pool,
      notifies,
      registration: () => this.#registration,
      onCommit: (steps, seconds) => {
        this.#works(true)
        events.committed(steps, seconds)
      },
    })
    this.copies = new ChangesFeed({
      ...shared,
      open: () => this.#openForChanges(),
      pollMs,
      steady,
      listens: notifies,
      isRegistered: () => this.#isRegistered,
      listenerMs,
      settled: (commitId) => this.#writer.settled(commitId),
      onConfirmed: (version) => this.#confirmed(version),
      prune: () => this.#prune(),
      onHeartbeatWanted: () => {
        this.#answering ??= this.#answer().finally(() => {
          this.#answering = undefined
        })
      },
    })
    this.#replica = new Replica({
      ...shared,
      pool: this.#pool,
      id: this.replicaId,
      name: replicaName,
      notifies,
      patienceMs: patience * listenerMs,
      versionSeen: () => this.#versionSeen,
    })
  }

  /** Must be called once, before anything else. */
  async open({ stopping, refusalOfNew }: PostgresOptions): Promise<void> {
    for (;;) {
      try {
        await migratePostgres(this.#connection, refusalOfNew)
        await this.#register()
        break
      } catch (cause) {
        if (cause instanceof StartError) throw cause
        this.#failed(cause)
        stopping?.throwIfAborted()
        await pause(reconnectMs, undefined, { signal: stopping })
      }
    }
    this.#works(true)
    this.#replica.start()
    this.copies.start()
  }

  get connectionStates(): Pool['states'] {
    return this.#pool.states
  }

  async recordBytes(): Promise<number> {
    const [row] = await this.#query(statements.recordBytes, [])
    return Number(row?.[0])
  }

  async get(key: string): Promise<StoredRecord | undefined> {
    checkPostgresKey(key)
    return await this.#read('get', () => this.#reader.ask(key))
  }

  async list(prefix: string, range: Range = {}): Promise<StoredRecord[]> {
    return await this.#readRange(this.#records, prefix, range)
  }

  async listKeys(prefix: string, range: Range = {}): Promise<string[]> {
    return await this.#readRange(this.#keys, prefix, range)
  }

  update(key: string, change: Change, options?: WriteOptions): Promise<void> {
    return this.#step(updateStep(key, change, options))
  }

  write(batch: readonly BatchEntry[]): Promise<boolean> {
    return this.#step(writeStep(batch))
  }

  async deletePrefix(prefix: string, options?: WriteOptions): Promise<void> {
    while ((await this.#step(deleteStep(prefix, options))) === deletesPerStep);
  }

  watch(...watcher: Parameters<ChangesFeed['watch']>): () => void {
    return this.copies.watch(...watcher)
  }

  holdJob(job: string, ttlMs: number): Promise<Fence | undefined> {
    return this.#jobs.ask({ job, ttlMs })
  }

  async releaseJob({ job, epoch }: Fence): Promise<void> {
    await this.#write(statements.releaseJob, [job, this.replicaId, String(epoch)])
  }

  async confirmedByAll(): Promise<void> {
    await this.copies.confirm()
    await this.#watchRead(() => this.#replica.seenByAll(this.copies.version))
  }

  async replicas(): Promise<LiveReplica[]> {
    const rows = await this.#query(statements.liveReplicas, [String(liveMs)])
    const now = Date.now()
    return rows.map(([id, name, age]) => ({
      id: String(id),
      name: String(name),
      lastSeenMs: now - Number(age),
    }))
  }

  async databaseTime(): Promise<number> {
    const [row] = await this.#query(statements.databaseTime, [])
    return Number(row?.[0])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#writer.close()
    await this.copies[Symbol.asyncDispose]()
    await this.#replica[Symbol.asyncDispose]()
    await this.#pool[Symbol.asyncDispose]()
  }

  /** Nothing is served without this connection: if the database has no other left, the pool gives one up. */
  async #openForChanges(): Promise<Session> {
    // requests wait for this connection: one that hangs must not hold them up for long
    const statementTimeoutMs = Math.min(changesTimeoutMs, this.#connection.statementTimeoutMs)
    try {
      return await openSession({ ...this.#connection, statementTimeoutMs })
    } catch (cause) {
      if (engineCode(cause) === '53300') this.#pool.giveUpOne()
      throw cause
    }
  }

  async #query(statement: Statement, values: string[]): Promise<Row[]> {
    return await this.#watchRead(() => this.#pool.use((session) => session.query(statement, values)))
  }

  async #write(statement: Statement, values: (string | Buffer)[]): Promise<Row[]> {
    return await this.#watchRead(() => this.#pool.write((session) => session.query(statement, values)))
  }

  /** Takes or keeps the jobs; undefined for one that another server has. */
  async #hold(wanted: readonly WantedJob[]): Promise<(Fence | undefined)[]> {
    const ttls = new Map(wanted.map(({ job, ttlMs }) => [job, String(ttlMs)]))
    const names = textArray([...ttls.keys()])
    const rows = await this.#write(statements.holdJobs, [
      names,
      this.replicaId,
      textArray([...ttls.values()]),
    ])
    const epochs = new Map(rows.map(([job, epoch]) => [String(job), Number(epoch)]))
    return wanted.map(({ job }) => {
      const epoch = epochs.get(job)
      return epoch === undefined ? undefined : { job, epoch }
    })
  }

  async #step<T>(step: Step<T>): Promise<T> {
    for (const key of step.keys) checkPostgresKey(key)
    if (step.prefix !== undefined) checkPostgresKey(step.prefix)
    const started = performance.now()
    const result = await this.#writer.run(step, currentFence())
    this.#events.operated('write', (performance.now() - started) / 1000)
    return result
  }

  async #read<T>(operation: StorageOperation, read: () => Promise<T>): Promise<T> {
    const started = performance.now()
    const result = await this.#watchRead(read)
    this.#events.operated(operation, (performance.now() - started) / 1000)
    return result
  }

  async #watchRead<T>(read: () => Promise<T>): Promise<T> {
    if (this.#closed) throw failureOf(new Error('closed'))
    try {
      return await read()
    } catch (cause) {
      this.#failed(cause)
      throw failureOf(cause)
    }
  }

  async #readRange<T>(reader: RangeReader<T>, prefix: string, range: Range): Promise<T[]> {
    checkPostgresKey(prefix)
    if (range.after !== undefined) checkPostgresKey(range.after)
    return await this.#read('list', () => reader.read(prefix, range))
  }

  /** Another server took this one for dead. It may write again once its copies are current. */
  #fenced(): void {
    this.#isRegistered = false
    this.#registration = undefined
    this.copies.distrust()
    if (this.#closed) return
    this.#registering ??= this.#registerAgain().finally(() => {
      this.#registering = undefined
    })
  }

  async #registerAgain(): Promise<void> {
    while (!this.#closed) {
      try {
        await this.#register()
        return
      } catch (cause) {
        this.#failed(cause)
        await pause(reconnectMs)
      }
    }
  }

  /** Throws a StartError if the records were moved to another storage, or are an unfinished copy. */
  async #register(): Promise<void> {
    await this.#replica.register()
    try {
      // in this order: a copy sets its mark, and then looks for registered servers
      refuseMarked('the database', await this.#pool.use(readMarks))
    } catch (cause) {
      await this.#replica.leave()
      throw cause
    }
    this.#isRegistered = true
    await this.copies.confirm()
    this.#registrations += 1
    this.#registration = this.#registrations
  }

  /** What was sealed or decided before the listeners heard may still be on its way to the database. */
  #confirmed(version: number): void {
    this.#works(false)
    if (version === this.#versionSeen) return
    this.#seen = this.#writer.drained().then(() => {
      this.#versionSeen = version
    })
  }

  async #prune(): Promise<void> {
    for (const statement of [statements.pruneChanges, statements.pruneJobs])
      await this.#pool.write((session) => session.query(statement)).catch(() => undefined)
  }

  /** Tells a server that waits what this one has handled. */
  async #answer(): Promise<void> {
    await this.copies.confirm().catch(() => {})
    await this.#seen
    await this.#replica.beat()
  }

  /** Reports a failure, when calls begin to fail, and once if the database refuses this user meanwhile. */
  #failed(cause: unknown): void {
    const code = engineCode(cause)
    this.#events.failed({ kind: failureKind(code), cause })
    if (endsConnections(cause)) this.#pool.empty()
    if (!isLasting(cause)) return
    const text = cause instanceof Error && cause.message !== '' ? cause.message : code
    const reason = `${failureOf(cause).message}: ${text}`
    const refuses = isRefusal(cause)
    if (this.#failing === undefined || (refuses && !this.#failing.isRefusal)) this.#events.writesFail(reason)
    this.#failing = {
      endsWithReads: isConnectionFailure(cause) || refuses,
      isRefusal: refuses || this.#failing?.isRefusal === true,
    }
  }

  /** After a commit, everything works; after a read, the connection does. */
  #works(isCommit: boolean): void {
    if (this.#failing === undefined || !(isCommit || this.#failing.endsWithReads)) return
    this.#failing = undefined
    this.#events.writesFail(undefined)
  }
}

/** The files are needed with each connection: one that cannot be read is a wrong setting. */
function checkFiles({ passwordFile, caFile }: PostgresOptions['connection']): void {
  for (const [name, file] of Object.entries({ PASSWORD: passwordFile, CA: caFile })) {
    try {
      if (file !== undefined) readFileSync(file)
    } catch (cause) {
      throw new StartError(2, `GATEHOUSE_STORAGE_${name}_FILE: cannot read ${file}: ${systemReason(cause)}`, {
        cause,
      })
    }
  }
}

function checkPostgresKey(key: string): void {
  checkKey(key)
  if (key.includes('\0')) throw new ServiceError('invalid', 'a name contains the character U+0000')
}
