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
  /** Until a sweep that failed is taken up again. */
  readonly againMs: number
  onError(error: unknown): void
}

/** There while a sweep is asked for and not done: a start goes on with it. */
const markKey = 'lease-sweep'
const pageSize = 64

/** Which leases a token has, and their end with it. docs/contract/leases.md#cascades */
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

  /** Ends the leases of an owner now, if they are meant; what has ended, and its retries, stay as they are. A lease that cannot be read is left out. */
  async end(owner: string, isMeant: (lease: Lease) => boolean = () => true): Promise<void> {
    const { view, records, clock } = this.#parts
    for (let after: string | undefined; ; await nextTurn()) {
      const page: string[] = await view.listKeys(ownerPrefix(owner), { limit: pageSize, ...(after === undefined ? {} : { after }) })
      const now = clock.now()
      const ends = page.map((key) =>
        records.change(readRef(key.slice(ownerPrefix(owner).length)), (lease) => (isMeant(lease) ? endedNow(lease, now) : undefined)),
      )
      await Promise.all(ends.map((end) => end.catch((error: unknown) => this.#leaveOut(error))))
      after = page.at(-1)
      if (page.length < pageSize) return
    }
  }

  /** Resolves once it is certain to happen; the walk itself goes on in the background. */
  async sweep(): Promise<void> {
    this.#wanted = true
    await this.#parts.view.write([{ key: markKey, value: true }])
    this.#beginSweep()
  }

  /** Goes on with a sweep a stop has cut off. */
  resume(): void {
    this.#beginWork(() => this.#resume())
  }

  /** False when one is under way. */
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
    while (this.#sweeping !== undefined || this.#tidying !== undefined) await Promise.all([this.#sweeping, this.#tidying])
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

  /** What is asked for during a walk makes another one: the first may be past the token it is about. */
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

  /** Each owner once: what lies below one is leapt over. False when the server stopped before the end. */
  async #walk(visit: (owner: string) => Promise<void>): Promise<boolean> {
    for (let after: string | undefined; !this.#stopped; await nextTurn()) {
      const [key] = await this.#parts.view.listKeys(ownersPrefix, { limit: 1, ...(after === undefined ? {} : { after }) })
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

  /** Ends the leases of an owner that is gone; drops rows without a lease. */
  async #tidyOwner(owner: string): Promise<void> {
    const { view, tokens, records } = this.#parts
    if (!isEntityOwner(owner) && (await tokens.tokenByHash(owner)) === undefined) await this.end(owner)
    for (let after: string | undefined; ; await nextTurn()) {
      const page: string[] = await view.listKeys(ownerPrefix(owner), { limit: pageSize, ...(after === undefined ? {} : { after }) })
      for (const key of page) {
        if ((await records.find(readRef(key.slice(ownerPrefix(owner).length)))) === undefined) await view.write([{ key, value: undefined }])
      }
      after = page.at(-1)
      if (page.length < pageSize) return
    }
  }
}
