import type { Clock } from '../lib/clock.ts'

export type KeptCountParts = {
  readonly clock: Clock
  /** A walk over all there is, at its own pace: how many, by namespace id. */
  count(): Promise<ReadonlyMap<string, number>>
}

/**
 * A count is good for so long; and for twenty times as long as it took, so that counting never is most of the
 * work.
 */
const leastAgeMs = 10_000

/** A count that costs a walk: one at a time whoever asks, and kept for a while. */
export class CachedCount {
  readonly #parts: KeptCountParts
  #kept: { byNamespace: ReadonlyMap<string, number>; until: number } | undefined
  #running: Promise<ReadonlyMap<string, number>> | undefined

  constructor(parts: KeptCountParts) {
    this.#parts = parts
  }

  async of(namespace: string): Promise<number> {
    return (await this.#known()).get(namespace) ?? 0
  }

  /** In all namespaces together. */
  async total(): Promise<number> {
    return (await this.#known()).values().reduce((sum, count) => sum + count, 0)
  }

  async #known(): Promise<ReadonlyMap<string, number>> {
    return this.#kept !== undefined && this.#parts.clock.now() < this.#kept.until
      ? this.#kept.byNamespace
      : this.#counted()
  }

  #counted(): Promise<ReadonlyMap<string, number>> {
    this.#running ??= this.#count().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #count(): Promise<ReadonlyMap<string, number>> {
    const { clock, count } = this.#parts
    const started = clock.now()
    const byNamespace = await count()
    const took = clock.now() - started
    this.#kept = { byNamespace, until: clock.now() + Math.max(leastAgeMs, 20 * took) }
    return byNamespace
  }
}
