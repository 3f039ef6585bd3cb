import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../lib/clock.ts'
import type { View } from '../barrier/view.ts'
import type { TokenStore } from '../tokens/token-store.ts'
import { isUnreadable } from '../stored-record.ts'
import { behind, isEntityOwner, ownerPrefix, ownersPrefix, readRef } from './lease-keys.ts'
import type { Lease } from './lease.ts'
import type { LeaseRecords } from './lease-records.ts'
import { endedNow } from './retry.ts'

export type LeaseOwnersParts = {
  readonly view: View
  readonly clock: Clock
  readonly tokens: TokenStore
  readonly records: LeaseRecords
  /** Delay before a failed sweep is retried. */
  readonly againMs: number
  onError(error: unknown): void
}

/** Exists while a requested sweep is not done, so that a restarted server resumes it. */
const markKey = 'lease-sweep'
const pageSize = 64

/** Ends leases with their owners. docs/contract/leases.md#cascades */
export class LeaseOwners implements AsyncDisposable {
  readonly #parts: LeaseOwnersParts
  #wanted = false
  #sweeping: Promise<void> | undefined
  #tidying: Promise<void> | undefined
  #again: NodeJS.Timeout | undefined
  #stopped = false

  constructor(parts: LeaseOwnersParts) {
    this.#parts = parts
  }

  /**
   * Ends those leases of an owner now for which `isMeant` is true. Leases that have already ended keep their
   * retries. Skips unreadable leases.
   */
  async end(owner: string, isMeant: (lease: Lease) => boolean = () => true): Promise<void> {
    const { view, records, clock } = this.#parts
    for (let after: string | undefined; ; await nextTurn()) {
      const page: string[] = await view.listKeys(ownerPrefix(owner), {
        limit: pageSize,
        ...(after === undefined ? {} : { after }),
      })
      const now = clock.now()
      const ends = page.map((key) =>
        records.change(readRef(key.slice(ownerPrefix(owner).length)), (lease) =>
          isMeant(lease) ? endedNow(lease, now) : undefined,
        ),
      )
      await Promise.all(ends.map((end) => end.catch((error: unknown) => this.#leaveOut(error))))
      after = page.at(-1)
      if (page.length < pageSize) return
    }
  }

  /** Ends the leases of all invalid tokens in the background. Resolves once the request is durable. */
  async sweep(): Promise<void> {
    this.#wanted = true
    await this.#parts.view.write([{ key: markKey, value: true }])
    this.#beginSweep()
  }

  /** Resumes a sweep that a stop of the server interrupted. */
  resume(): void {
    this.#beginWork(() => this.#resume())
  }

  /** Removes leases and rows of deleted owners in the background. False if this is in progress already. */
  tidy(): boolean {
    if (this.#tidying !== undefined) return false
    this.#tidying = this.#walk((owner) => this.#tidyOwner(owner))
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
    this.#stopped = true
    clearTimeout(this.#again)
    await this.settled()
  }

  #beginSweep(): void {
    this.#wanted = true
    this.#beginWork(() => this.#sweep())
  }

  #beginWork(work: () => Promise<void>): void {
    if (this.#sweeping !== undefined || this.#stopped) return
    this.#sweeping = work().finally(() => {
      this.#sweeping = undefined
      if (this.#wanted) this.#beginSweep()
    })
  }

  async #resume(): Promise<void> {
    try {
      if ((await this.#parts.view.get(markKey)) !== undefined) this.#wanted = true
    } catch (error) {
      this.#later(error, () => this.resume())
    }
    await this.#sweep()
  }

  /** Walks again if a sweep was requested during the walk, which may have passed the token concerned. */
  async #sweep(): Promise<void> {
    try {
      while (this.#wanted && !this.#stopped) {
        this.#wanted = false
        const done = await this.#walk(async (owner) => {
          if (!isEntityOwner(owner) && !(await this.#isValid(owner))) await this.end(owner)
        })
        if (done && !this.#wanted) await this.#parts.view.write([{ key: markKey, value: undefined }])
      }
    } catch (error) {
      this.#wanted = false
      this.#later(error, () => this.#beginSweep())
    }
  }

  #later(error: unknown, work: () => void): void {
    this.#parts.onError(error)
    this.#again = setTimeout(work, this.#parts.againMs).unref()
  }

  /** Visits each owner once and skips its other rows. False if the server stopped before the end. */
  async #walk(visit: (owner: string) => Promise<void>): Promise<boolean> {
    for (let after: string | undefined; !this.#stopped; await nextTurn()) {
      const [key] = await this.#parts.view.listKeys(ownersPrefix, {
        limit: 1,
        ...(after === undefined ? {} : { after }),
      })
      if (key === undefined) return true
      const owner = key.slice(ownersPrefix.length, key.indexOf('/', ownersPrefix.length))
      await visit(owner).catch((error: unknown) => this.#leaveOut(error))
      after = behind(ownerPrefix(owner))
    }
    return false
  }

  #leaveOut(error: unknown): void {
    if (!isUnreadable(error)) throw error
    this.#parts.onError(error)
  }

  async #isValid(owner: string): Promise<boolean> {
    const stored = await this.#parts.tokens.tokenByHash(owner)
    return stored !== undefined && (await this.#parts.tokens.isValid(stored.token))
  }

  /** Ends the leases of an owner that no longer exists; deletes rows without a lease. */
  async #tidyOwner(owner: string): Promise<void> {
    const { view, tokens, records } = this.#parts
    if (!isEntityOwner(owner) && (await tokens.tokenByHash(owner)) === undefined) await this.end(owner)
    for (let after: string | undefined; ; await nextTurn()) {
      const page: string[] = await view.listKeys(ownerPrefix(owner), {
        limit: pageSize,
        ...(after === undefined ? {} : { after }),
      })
      for (const key of page) {
        if ((await records.find(readRef(key.slice(ownerPrefix(owner).length)))) === undefined)
          await view.write([{ key, value: undefined }])
      }
      after = page.at(-1)
      if (page.length < pageSize) return
    }
  }
}
