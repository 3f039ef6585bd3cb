import type { View } from '../barrier/view.ts'
import { leasePrefix } from './lease-keys.ts'

/** docs/contract/leases.md#retries */
const warnAbove = 256_000

/**
 * The number of secret leases: counted once in the background, then updated. Used for a warning, not for a
 * limit.
 */
export class LeaseCount {
  readonly #view: View
  readonly #onMany: (count: number) => void
  #count = 0
  /** Last counted key; empty before the count, and undefined once all keys are counted. */
  #counted: string | undefined = ''
  #warned = false

  /** Calls `onMany` each time the number rises above 256,000. */
  constructor(view: View, onMany: (count: number) => void) {
    this.#view = view
    this.#onMany = onMany
  }

  /** Counts the stored leases. Returns early if `stopped` is aborted. */
  async start(stopped: AbortSignal): Promise<void> {
    this.#count = 0
    this.#counted = ''
    for await (const page of this.#view.keyPages(leasePrefix)) {
      if (stopped.aborted) return
      this.#count += page.length
      this.#counted = page.at(-1)
    }
    this.#counted = undefined
    this.#warnIfMany()
  }

  added(key: string): void {
    this.#add(key, 1)
  }

  removed(key: string): void {
    this.#add(key, -1)
  }

  #add(key: string, change: 1 | -1): void {
    // the count in progress has not reached this key yet
    if (this.#counted !== undefined && key > this.#counted) return
    this.#count += change
    this.#warnIfMany()
  }

  #warnIfMany(): void {
    const isMany = this.#count > warnAbove
    if (isMany && !this.#warned) this.#onMany(this.#count)
    this.#warned = isMany
  }
}
