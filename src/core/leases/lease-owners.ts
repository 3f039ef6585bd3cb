import { untilAborted, wait } from '../../lib/concurrency/wait.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { View } from '../barrier/view.ts'
import type { Held } from '../jobs/jobs.ts'
import { foldersOf } from '../records/key-level.ts'
import { isUnreadable } from '../records/stored-record.ts'
import type { TokenStore } from '../tokens/store/token-store.ts'
import type { Lease } from './lease.ts'
import { isEntityOwner, ownerPrefix, ownersPrefix, readRef } from './lease-keys.ts'
import type { LeaseRecords } from './lease-records.ts'
import { endedNow } from './retry.ts'

export type LeaseOwnersParts = {
  readonly view: View
  readonly clock: Clock
  readonly tokens: TokenStore
  readonly records: LeaseRecords
  /** Whether other servers request sweeps too. */
  readonly isShared: boolean
  /** Delay before a failed sweep is retried. */
  readonly retryMs: number
  onError(error: unknown): void
}

/** Exists while a requested sweep is not done, so that another or a restarted server resumes it. */
const markKey = 'lease-sweep'
/** How often the holder of the job looks for requests of other servers. */
const lookMs = 1_000

/** Whether the mount that issued the batch token of a lease is still there; earlier versions did not note it. */
export const isOfLiveMount = (
  tokens: Pick<TokenStore, 'isLiveMount'>,
  { login_mount, login_moves = 0 }: Pick<Lease, 'login_mount' | 'login_moves'>,
): boolean => login_mount === undefined || tokens.isLiveMount(login_mount, login_moves)

/** Ends leases with their owners. docs/contract/leases.md#cascades */
export class LeaseOwners implements AsyncDisposable {
  readonly #parts: LeaseOwnersParts
  #isRequested = false
  #sweeping: Promise<void> | undefined
  #tidying: Promise<void> | undefined
  #retry: NodeJS.Timeout | undefined
  readonly #stopping = new AbortController()
  /** Undefined while another server sweeps. */
  #held: Held | undefined

  constructor(parts: LeaseOwnersParts) {
    this.#parts = parts
  }

  /**
   * Ends the leases of an owner for which `condition` is true. Leases that have already ended keep their
   * retries. Skips unreadable leases.
   */
  async end(owner: string, condition: (lease: Lease) => boolean = () => true): Promise<void> {
    const { view, records, clock } = this.#parts
    for await (const page of view.keyPages(ownerPrefix(owner))) {
      const now = clock.now()
      const ends = page.map((key) =>
        records.change(readRef(key.slice(ownerPrefix(owner).length)), (lease) =>
          condition(lease) ? endedNow(lease, now) : undefined,
        ),
      )
      await Promise.all(ends.map((end) => end.catch((error: unknown) => this.#reportUnreadable(error))))
    }
  }

  /**
   * Ends the leases of all invalid tokens in the background, on the server that does the job. Resolves once
   * the request is durable.
   */
  async sweep(): Promise<void> {
    await this.#parts.view.write([{ key: markKey, value: true }])
    if (this.#held !== undefined || !this.#parts.isShared) this.#startSweep()
  }

  /** Does the sweeps that are requested until the job ends. */
  async work(held: Held): Promise<void> {
    const ended = AbortSignal.any([held.ended, this.#stopping.signal])
    this.#held = held
    this.#startSweep()
    if (!this.#parts.isShared) await untilAborted(ended)
    while (!ended.aborted) {
      await wait(lookMs, ended)
      if (this.#retry === undefined) this.#startSweep()
    }
    this.#forgetRetry()
    while (this.#sweeping !== undefined) await this.#sweeping
    this.#held = undefined
  }

  /** Removes leases and rows of deleted owners in the background. False if this is in progress already. */
  tidy(): boolean {
    if (this.#tidying !== undefined) return false
    this.#tidying = this.#eachOwner((owner) => this.#tidyOwner(owner))
      .then(() => undefined, this.#parts.onError)
      .finally(() => {
        this.#tidying = undefined
      })
    return true
  }

  async settled(): Promise<void> {
    while (this.#sweeping !== undefined || this.#tidying !== undefined)
      await Promise.all([this.#sweeping, this.#tidying])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    this.#forgetRetry()
    await this.settled()
  }

  /** Whether the work must end. */
  get #isOver(): boolean {
    return this.#stopping.signal.aborted || this.#held?.ended.aborted === true
  }

  /** Starts the sweep that is requested, if any, or looks once more after the one in progress. */
  #startSweep(): void {
    this.#isRequested = true
    if (this.#sweeping !== undefined || this.#isOver) return
    const sweeps = () => this.#sweeps()
    this.#sweeping = (this.#held === undefined ? sweeps() : this.#held.run(sweeps)).finally(() => {
      this.#sweeping = undefined
      if (this.#isRequested) this.#startSweep()
    })
  }

  async #sweeps(): Promise<void> {
    this.#forgetRetry()
    try {
      while (this.#isRequested && !this.#isOver) {
        this.#isRequested = false
        await this.#sweep()
      }
    } catch (error) {
      this.#isRequested = false
      if (this.#isOver) return
      this.#parts.onError(error)
      this.#retry = setTimeout(() => {
        this.#retry = undefined
        this.#startSweep()
      }, this.#parts.retryMs).unref()
    }
  }

  #forgetRetry(): void {
    clearTimeout(this.#retry)
    this.#retry = undefined
  }

  /** Repeats if a sweep was requested during this one, which may have passed the token concerned. */
  async #sweep(): Promise<void> {
    const { view, tokens } = this.#parts
    for (;;) {
      const mark = await view.read(markKey)
      if (mark === undefined) return
      // the reason for the sweep, such as a moved mount
      await tokens.confirmCopies()
      const done = await this.#eachOwner(async (owner) => {
        if (isEntityOwner(owner)) await this.end(owner, (lease) => !isOfLiveMount(tokens, lease))
        else if (await this.#isInvalid(owner)) await this.end(owner)
      })
      if (!done || (await view.write([{ key: markKey, value: undefined, expect: mark.revision }]))) return
    }
  }

  /** Visits each owner once and skips its other rows. False if the server stopped before the end. */
  async #eachOwner(visit: (owner: string) => Promise<void>): Promise<boolean> {
    for await (const { name: owner } of foldersOf(this.#parts.view, ownersPrefix)) {
      if (this.#isOver) return false
      await visit(owner).catch((error: unknown) => this.#reportUnreadable(error))
    }
    return true
  }

  /** Reports an unreadable record, which is then skipped. Rethrows other errors. */
  #reportUnreadable(error: unknown): void {
    if (!isUnreadable(error)) throw error
    this.#parts.onError(error)
  }

  async #isInvalid(owner: string): Promise<boolean> {
    const stored = await this.#parts.tokens.tokenByHash(owner)
    return stored === undefined || (await this.#parts.tokens.isInvalid(stored.token))
  }

  /** Ends the leases of an owner that no longer exists; deletes rows without a lease. */
  async #tidyOwner(owner: string): Promise<void> {
    const { view, tokens, records } = this.#parts
    if (!isEntityOwner(owner) && (await tokens.tokenByHash(owner)) === undefined) await this.end(owner)
    for await (const page of view.keyPages(ownerPrefix(owner)))
      for (const key of page)
        if ((await records.find(readRef(key.slice(ownerPrefix(owner).length)))) === undefined)
          await view.write([{ key, value: undefined }])
  }
}
