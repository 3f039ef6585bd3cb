import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * Called with the keys that have been written, in storage, since the last call: by any server, this one
 * included. Undefined: any key may have been. The listener drops or reloads its copies; while it has not
 * resolved, other copies count as current for their second at most.
 */
export type ChangeListener = (keys: readonly string[] | undefined) => void | Promise<void>

/** Whether the copies of records that this server keeps may be used. docs/replicas.md#copies */
export type Copies = {
  /** Whether every change that was acknowledged a second ago has been reported to the listeners. */
  areCurrent(): boolean
  /** How long ago the last read of changes began, in milliseconds by the monotonic clock. */
  readonly ageMs: number
  /**
   * Resolves once the listeners have handled every change that was acknowledged before the call. Rejects with
   * `unavailable`.
   */
  confirm(): Promise<void>
}

/** The right to do a background job. A later holder has a greater epoch. */
export type Fence = { readonly job: string; readonly epoch: number }

/** A server with a recent heartbeat. */
export type Replica = { readonly id: string; readonly name: string; readonly lastSeenMs: number }

/** What a server needs of a storage that others write too; undefined where no other server writes it. docs/replicas.md */
export interface SharedStorage {
  readonly replicaId: string
  readonly copies: Copies
  /** Reports writes of keys that start with `prefix`. Returns a function that removes the listener. */
  watch(prefix: string, listener: ChangeListener): () => void
  /** Takes or keeps the right to a job for `ttlMs`. Undefined: another server has it. */
  holdJob(job: string, ttlMs: number): Promise<Fence | undefined>
  /** Gives a job back. No effect if another server holds it by now. */
  releaseJob(fence: Fence): Promise<void>
  /**
   * Resolves once every server has handled, as `confirm` does, every change that was acknowledged before the
   * call. A server without a recent heartbeat, or whose listeners take longer than 30 s, is not waited for, and
   * cannot write any more until it has handled them too.
   */
  confirmedByAll(): Promise<void>
  /** The servers that share the storage, this one included. */
  replicas(): Promise<Replica[]>
  /** The database's time in milliseconds since the epoch, read now. */
  databaseTime(): Promise<number>
}

const running = new AsyncLocalStorage<Fence>()

/**
 * Runs the work of a background job: each of its writes succeeds only while the fence holds, and else rejects
 * with `unavailable`. The storage checks this in the transaction of the write.
 */
export const fenced = <T>(fence: Fence, work: () => Promise<T>): Promise<T> => running.run(fence, work)

/** The fence of the job that the caller works for, if any. */
export const currentFence = (): Fence | undefined => running.getStore()

/** Runs work that is not that of the caller's background job. */
export const unfenced = <T>(work: () => Promise<T>): Promise<T> => running.exit(work)
