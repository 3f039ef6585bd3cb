import { setTimeout as pause } from 'node:timers/promises'
import type { View } from '../barrier/view.ts'
import { leasePrefix } from './lease-keys.ts'

/** docs/contract/leases.md#retries */
const warnAbove = 256_000
const pageSize = 1000
/** Between two pages of the count at start: nobody waits for it. */
const pauseMs = 5

/** How many secret leases there are: counted once in the background, then kept. A note for the log, not a limit. */
export class LeaseCount {
  readonly #view: View
  readonly #onMany: (count: number) => void
  #count = 0
  /** Keys up to here are counted; undefined: all are. */
  #counted: string | undefined = ''
  #warned = false

  /** `onMany` is told when there are more than 256,000, and again after there were fewer. */
  constructor(view: View, onMany: (count: number) => void) {
    this.#view = view
    this.#onMany = onMany
  }

  /** Counts what is stored; ends early when `stopped`. */
  async start(stopped: AbortSignal): Promise<void> {
    while (!stopped.aborted) {
      const page: string[] = await this.#view.listKeys(leasePrefix, { limit: pageSize, ...(this.#counted ? { after: this.#counted } : {}) })
      this.#count += page.length
      this.#counted = page.at(-1)
      if (page.length < pageSize) break
      await pause(pauseMs, undefined, { signal: stopped }).catch(() => undefined)
    }
    if (!stopped.aborted) this.#counted = undefined
    this.#look()
  }

  added(key: string): void {
    this.#add(key, 1)
  }

  removed(key: string): void {
    this.#add(key, -1)
  }

  #add(key: string, change: 1 | -1): void {
    // the count under way will come to it
    if (this.#counted !== undefined && key > this.#counted) return
    this.#count += change
    this.#look()
  }

  #look(): void {
    const many = this.#count > warnAbove
    if (many && !this.#warned) this.#onMany(this.#count)
    this.#warned = many
  }
}
