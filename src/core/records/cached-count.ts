import type { Clock } from '../../lib/system/clock.ts'

export type CachedCountParts = {
  readonly clock: Clock
  /** Counts all objects, by namespace id. */
  count(): Promise<ReadonlyMap<string, number>>
}

const minAgeMs = 10_000
const maxAgeMs = 60_000
/** How long a count is used: 50 times as long as it took, which limits its cost, but a minute at most. */
export const keptForMs = (tookMs: number): number => Math.min(Math.max(minAgeMs, 50 * tookMs), maxAgeMs)

/** Caches an expensive count; concurrent callers share one run. */
export class CachedCount {
  readonly #parts: CachedCountParts
  #cached: { byNamespace: ReadonlyMap<string, number>; until: number } | undefined
  #running: Promise<ReadonlyMap<string, number>> | undefined

  constructor(parts: CachedCountParts) {
    this.#parts = parts
  }

  async of(namespace: string): Promise<number> {
    return (await this.#current()).get(namespace) ?? 0
  }

  /** The count of all namespaces. */
  async total(): Promise<number> {
    return (await this.#current()).values().reduce((sum, count) => sum + count, 0)
  }

  /** The counts by name. */
  byName(): Promise<ReadonlyMap<string, number>> {
    return this.#current()
  }

  async #current(): Promise<ReadonlyMap<string, number>> {
    return this.#cached !== undefined && this.#parts.clock.now() < this.#cached.until
      ? this.#cached.byNamespace
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
    this.#cached = { byNamespace, until: clock.now() + keptForMs(took) }
    return byNamespace
  }
}
