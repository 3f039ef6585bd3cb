import { ServiceError } from '../errors.ts'
import type { StoredRecord } from './storage.ts'

/** One row written by a group; a `value` of undefined deletes the key. */
export type RowWrite = {
  readonly key: string
  readonly value: Uint8Array | undefined
  readonly revision: number
  /** The stored row has this revision already. */
  readonly keepsRevision: boolean
}

/** The state that a step sees: committed rows, overlaid with the writes of earlier steps of its group. */
export type Group = {
  read(key: string): StoredRecord | undefined
  /** Assigns a new revision unless one is given. */
  put(key: string, value: Uint8Array | undefined, revision?: number): void
  /** At most `limit` keys that start with `prefix`, in no particular order. */
  keysUnder(prefix: string, limit: number): string[]
}

/**
 * Runs synchronously: first reads, then puts. It may throw only before its first put, so that a failed step
 * writes nothing.
 */
export type Step<T> = (group: Group) => T

/** The engine: reads see only committed rows; `commit` is atomic and resolves once durable. */
export type CommitEngine = {
  read(key: string): StoredRecord | undefined
  keysUnder(prefix: string, limit: number): string[]
  commit(rows: readonly RowWrite[]): Promise<void>
  /** Called for each durable group. */
  onCommit(steps: number, seconds: number): void
  /** The greatest revision ever assigned. */
  readonly lastRevision: number
}

type Waiting = { run(group: Group): void; settle(): void; reject(cause: unknown): void }

const maxGroupSteps = 256
const maxGroupBytes = 1024 * 1024

/** Counters since the start. */
export type CommitStats = { commits: number; failedCommits: number; steps: number }

/**
 * Groups steps into commits, one at a time: steps that arrive during a commit share the next one. Each step
 * sees durable state plus the writes of its own group, and resolves only when the group is durable. A group
 * succeeds or fails as a whole, except for steps that throw.
 */
export class GroupCommit {
  readonly stats: CommitStats = { commits: 0, failedCommits: 0, steps: 0 }
  readonly #engine: CommitEngine
  #waiting: Waiting[] = []
  #revision: number
  #running = false
  #closed = false
  #whenIdle: (() => void)[] = []

  constructor(engine: CommitEngine) {
    this.#engine = engine
    this.#revision = engine.lastRevision
  }

  run<T>(step: Step<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new ServiceError('unavailable', 'storage is unavailable'))
    return new Promise<T>((resolve, reject) => {
      let result: T
      this.#waiting.push({
        run: (group) => {
          result = step(group)
        },
        settle: () => resolve(result),
        reject,
      })
      this.#wake()
    })
  }

  /** Refuses new steps and waits for pending ones. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#running) await new Promise<void>((resolve) => this.#whenIdle.push(resolve))
  }

  /** Starts the group after the current turn of the event loop, so that all steps of one turn share it. */
  #wake(): void {
    if (this.#running) return
    this.#running = true
    setImmediate(() => this.#commitNext())
  }

  #commitNext(): void {
    const overlay = new Map<string, RowWrite>()
    const decided = this.#decide(overlay)
    if (overlay.size === 0) {
      for (const step of decided) step.settle()
      this.#next()
      return
    }
    const started = performance.now()
    this.#engine.commit([...overlay.values()]).then(
      () => {
        this.stats.commits += 1
        this.stats.steps += decided.length
        this.#engine.onCommit(decided.length, (performance.now() - started) / 1000)
        for (const step of decided) step.settle()
        this.#next()
      },
      (cause) => {
        this.stats.failedCommits += 1
        for (const step of decided) step.reject(cause)
        this.#next()
      },
    )
  }

  #next(): void {
    this.#running = false
    if (this.#waiting.length > 0) this.#wake()
    else for (const resolve of this.#whenIdle.splice(0)) resolve()
  }

  /** Runs waiting steps until the group is full; returns those to resolve after the commit. */
  #decide(overlay: Map<string, RowWrite>): Waiting[] {
    let bytes = 0
    const engine = this.#engine
    const group: Group = {
      read: (key) => {
        const row = overlay.get(key)
        if (row === undefined) return engine.read(key)
        return row.value === undefined ? undefined : { key, value: row.value, revision: row.revision }
      },
      put: (key, value, kept) => {
        const keepsRevision = kept !== undefined && overlay.get(key)?.keepsRevision !== false
        if (kept === undefined) this.#revision += 1
        overlay.set(key, { key, value, revision: kept ?? this.#revision, keepsRevision })
        bytes += key.length + (value?.length ?? 0)
      },
      keysUnder: (prefix, limit) => {
        const written = [...overlay.values()].filter(({ key }) => key.startsWith(prefix))
        // the engine still has the rows that this group deletes, so request that many more
        const keys = new Set(engine.keysUnder(prefix, limit + written.length))
        for (const { key, value } of written) value === undefined ? keys.delete(key) : keys.add(key)
        return [...keys].slice(0, limit)
      },
    }
    const decided: Waiting[] = []
    let taken = 0
    for (const step of this.#waiting) {
      if (taken === maxGroupSteps || bytes >= maxGroupBytes) break
      taken += 1
      try {
        step.run(group)
        decided.push(step)
      } catch (cause) {
        step.reject(cause)
      }
    }
    this.#waiting = taken === this.#waiting.length ? [] : this.#waiting.slice(taken)
    return decided
  }
}
