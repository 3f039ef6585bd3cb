import { within } from '../../lib/concurrency/within.ts'
import type { ChangeListener, Copies } from '../shared-storage.ts'
import { type ChangeRow, changeOf, keysUnder } from './changes.ts'
import { FencedError, failureOf } from './failures.ts'
import type { Session } from './session.ts'
import { channel, heartbeatWanted, statements } from './statements.ts'

export type FeedParts = {
  readonly replicaId: string
  readonly pollMs: number
  readonly listens: boolean
  open(): Promise<Session>
  /** Monotonic milliseconds. */
  steady(): number
  /** Whether this server may use the database. */
  isRegistered(): boolean
  /** Resolves when the callers of a commit of this server have been answered. */
  settled(commitId: string): Promise<void>
  onFenced(): void
  /** A server waits until the others have handled what was written. */
  onHeartbeatWanted(): void
  /** The listeners have handled a version. */
  onConfirmed(version: number): void
  /** Removes what no server needs any more. Never rejects. */
  prune(): Promise<void>
  onFailure(cause: unknown): void
  readonly listenerMs: number
}

/** How long copies may be used after they were confirmed. */
const currentMs = 1_000
/** Pause between two reads that notifications cause. */
const noticePauseMs = 20
const pruneEveryMs = 30_000
/** As many as `readChanges` returns. */
const maxRows = 2_000
/** A version beyond all: only the newest change is read. */
const newest = Number.MAX_SAFE_INTEGER

const unregistered = 'this server is not registered'

/** `running`: the call of the listener that has not ended yet. */
type Watcher = {
  readonly prefix: string
  readonly listener: ChangeListener
  running: Promise<void> | undefined
}

/**
 * Reads what servers have written and tells those who keep copies. It has a connection of its own, so that it
 * waits for nobody. docs/replicas.md#copies
 */
export class ChangesFeed implements Copies, AsyncDisposable {
  readonly #parts: FeedParts
  readonly #watchers = new Set<Watcher>()
  #session: Promise<Session> | undefined
  /** The last change that the listeners have handled. Undefined: everything may have changed. */
  #last: ChangeRow | undefined
  /** Raised by `distrust`. */
  #trust = 0
  #readAt = Number.NEGATIVE_INFINITY
  #confirmedAt = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | undefined
  #next: Promise<void> | undefined
  #poll: NodeJS.Timeout | undefined
  #notice: NodeJS.Timeout | undefined
  #prunedAt: number
  #closed = false

  constructor(parts: FeedParts) {
    this.#parts = parts
    this.#prunedAt = parts.steady()
  }

  /** The version that the listeners have handled. */
  get version(): number {
    return this.#last?.version ?? 0
  }

  areCurrent(): boolean {
    return this.ageMs < currentMs
  }

  get ageMs(): number {
    return this.#parts.steady() - this.#confirmedAt
  }

  confirm(): Promise<void> {
    // reads never overlap: the one that waits may not have begun yet
    if (this.#next !== undefined) return this.#next
    if (this.#reading === undefined) return this.#begin()
    this.#next = this.#reading.catch(() => {}).then(() => this.#begin())
    return this.#next
  }

  watch(prefix: string, listener: ChangeListener): () => void {
    const watcher = { prefix, listener, running: undefined }
    this.#watchers.add(watcher)
    return () => void this.#watchers.delete(watcher)
  }

  /** Everything may have changed, and nothing is current until it is confirmed again. */
  distrust(): void {
    this.#trust += 1
    this.#last = undefined
    this.#confirmedAt = Number.NEGATIVE_INFINITY
  }

  /** Begins to poll, and to listen. */
  start(): void {
    if (this.#closed) return
    this.#poll = setTimeout(() => {
      void this.confirm()
        .catch(() => {})
        .then(() => this.start())
    }, this.#parts.pollMs)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    clearTimeout(this.#poll)
    clearTimeout(this.#notice)
    await this.#reading?.catch(() => {})
    await (await this.#session?.catch(() => undefined))?.end()
  }

  #begin(): Promise<void> {
    this.#next = undefined
    const reading = this.#read().finally(() => {
      if (this.#reading === reading) this.#reading = undefined
    })
    this.#reading = reading
    return reading
  }

  async #read(): Promise<void> {
    const began = this.#parts.steady()
    this.#readAt = began
    const trust = this.#trust
    try {
      // the row may be there although the registration will be refused
      if (!this.#parts.isRegistered()) throw new FencedError(unregistered)
      const session = await this.#connected()
      const last = this.#last
      const rows = await session.query(statements.readChanges, [
        String(last?.version ?? newest),
        this.#parts.replicaId,
      ])
      if (rows[0]?.[5] !== 't') {
        this.#parts.onFenced()
        throw new FencedError(unregistered)
      }
      const changes = rows.map(changeOf).filter((change) => change !== undefined)
      await this.#report(last, changes)
      if (trust !== this.#trust) throw new FencedError('this server was fenced meanwhile')
      this.#last = changes.at(-1)
      this.#confirmedAt = began
      this.#parts.onConfirmed(this.version)
      this.#prune()
    } catch (cause) {
      if (!this.#closed) this.#parts.onFailure(cause)
      throw failureOf(cause)
    }
  }

  /** Tells the listeners what came after `last`; that anything may have changed if this is unknown. */
  async #report(last: ChangeRow | undefined, changes: readonly ChangeRow[]): Promise<void> {
    const [first] = changes
    if (first !== undefined && first.version === last?.version && first.commitId === last.commitId) {
      if (changes.length === 1) return
      if (changes.length < maxRows) {
        const news = changes.slice(1)
        for (const { commitId } of news) await this.#parts.settled(commitId)
        return await this.#tell((prefix) => keysOf(prefix, news))
      }
    }
    await this.#tell(() => undefined)
  }

  async #tell(keysFor: (prefix: string) => readonly string[] | undefined): Promise<void> {
    const { listenerMs } = this.#parts
    const told = [...this.#watchers].map(async (watcher) => {
      const keys = keysFor(watcher.prefix)
      if (keys?.length === 0) return
      const late = `copies of ${watcher.prefix} were not brought up to date in time`
      await within(listenerMs, handledBy(watcher, keys), late)
    })
    await Promise.all(told)
  }

  async #connected(): Promise<Session> {
    if (this.#closed) throw new Error('the storage is closed')
    this.#session ??= this.#connect()
    const opening = this.#session
    try {
      return await opening
    } catch (cause) {
      if (this.#session === opening) this.#session = undefined
      throw cause
    }
  }

  async #connect(): Promise<Session> {
    const session = await this.#parts.open()
    session.onBroken(() => {
      this.#session = undefined
    })
    if (this.#parts.listens) await this.#listen(session)
    return session
  }

  async #listen(session: Session): Promise<void> {
    session.onNotification((payload) => {
      this.#noticed()
      if (payload === heartbeatWanted) this.#parts.onHeartbeatWanted()
    })
    try {
      await session.text(`LISTEN ${channel}`)
    } catch (cause) {
      session.destroy()
      throw cause
    }
  }

  #noticed(): void {
    if (this.#notice !== undefined || this.#closed) return
    const wait = Math.max(0, this.#readAt + noticePauseMs - this.#parts.steady())
    this.#notice = setTimeout(() => {
      this.#notice = undefined
      this.confirm().catch(() => {})
    }, wait)
  }

  #prune(): void {
    const now = this.#parts.steady()
    if (now - this.#prunedAt < pruneEveryMs) return
    this.#prunedAt = now
    void this.#parts.prune()
  }
}

/**
 * Calls a listener. If it was late with the call before, waits for that, and rejects: the next read reports the
 * keys again.
 */
async function handledBy(watcher: Watcher, keys: readonly string[] | undefined): Promise<void> {
  if (watcher.running !== undefined) {
    await watcher.running
    throw new Error(`copies of ${watcher.prefix} were late`)
  }
  const { promise, resolve } = Promise.withResolvers<void>()
  watcher.running = promise
  try {
    await watcher.listener(keys)
  } finally {
    watcher.running = undefined
    resolve()
  }
}

/** Undefined: any key under `prefix`. */
function keysOf(prefix: string, changes: readonly ChangeRow[]): readonly string[] | undefined {
  const keys = new Set<string>()
  for (const { written } of changes) {
    const under = keysUnder(prefix, written)
    if (under === undefined) return undefined
    for (const key of under) keys.add(key)
  }
  return [...keys]
}
