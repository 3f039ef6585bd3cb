import type { OutboundClient } from '../../core/outbound.ts'
import { Buckets } from '../../lib/buckets.ts'
import type { Clock } from '../../lib/clock.ts'
import { type DiscoveryDocument, discover } from './discovery.ts'
import { fetchJwkSet, type KeySource } from './fetch-jwk-set.ts'
import type { JwkSet } from './jwk-set.ts'
import { type AnswerNote, SourceHistory } from './source-history.ts'

/**
 * Who names both the same shares what was fetched, and how often it may be; a fetch by other roots brings
 * nobody else newer keys.
 */
const keyOf = ({ url, caPem }: KeySource): string => `${url}\n${caPem}`

/** Told of each fetch that is over. */
export type OnFetch = (succeeded: boolean) => void

/** Ten fetches at once because of tokens that no known key verifies, then one more every six seconds. */
const missLimit = { capacity: 10, refillMs: 6000 }
/** Ten failures in a row, then one more try a second: logins do not wait long for a provider that is back. */
const failureLimit = { capacity: 10, refillMs: 1000 }
const pruneAbove = 1000

/**
 * Key sets and discovery documents, fetched once for all mounts that name the same URL and the same roots,
 * one fetch of each at a time. docs/contract/jwt.md#keys.
 */
export class SharedSources {
  readonly #numbers: { readonly last: number }
  readonly #keySets: Registry<JwkSet>
  readonly #documents: Registry<DiscoveryDocument>

  constructor({ outbound, clock }: { outbound: OutboundClient; clock: Clock }) {
    const numbers = { last: 0 }
    const limits = { misses: new Buckets(clock, missLimit), failures: new Buckets(clock, failureLimit) }
    const parts = { clock, numbers, limits }
    this.#keySets = new Registry(
      (place) => new SharedSource({ ...parts, place, fetch: (note) => fetchJwkSet(outbound, place, note) }),
    )
    this.#documents = new Registry(
      (place) => new SharedSource({ ...parts, place, fetch: (note) => discover(outbound, place, note) }),
    )
    this.#numbers = numbers
  }

  keySet(place: KeySource): SharedSource<JwkSet> {
    return this.#keySets.at(place)
  }

  document(place: KeySource): SharedSource<DiscoveryDocument> {
    return this.#documents.at(place)
  }

  /** The number of the fetch that began last. Those that begin later have greater ones. */
  get lastNumber(): number {
    return this.#numbers.last
  }
}

/** The sources that some mount uses; others may be collected. */
class Registry<T> {
  readonly #make: (place: KeySource) => SharedSource<T>
  readonly #byPlace = new Map<string, WeakRef<SharedSource<T>>>()
  #pruneAt = pruneAbove

  constructor(make: (place: KeySource) => SharedSource<T>) {
    this.#make = make
  }

  at(place: KeySource): SharedSource<T> {
    const key = keyOf(place)
    const known = this.#byPlace.get(key)?.deref()
    if (known !== undefined) return known
    if (this.#byPlace.size > this.#pruneAt) this.#dropUnused()
    const made = this.#make(place)
    this.#byPlace.set(key, new WeakRef(made))
    return made
  }

  #dropUnused(): void {
    for (const [key, source] of this.#byPlace) if (source.deref() === undefined) this.#byPlace.delete(key)
    this.#pruneAt = Math.max(pruneAbove, 2 * this.#byPlace.size)
  }
}

/** What was fetched, and by which fetch. */
export type Fetched<T> = { readonly value: T; readonly number: number }

type SharedSourceParts<T> = {
  readonly place: KeySource
  readonly clock: Clock
  readonly numbers: { last: number }
  readonly limits: { readonly misses: Buckets; readonly failures: Buckets }
  fetch(note: AnswerNote): Promise<T>
}

/** What one place publishes. It is kept until a newer one is fetched; a fetch that fails ends nothing. */
export class SharedSource<T> {
  readonly place: KeySource
  readonly history: SourceHistory
  readonly #parts: SharedSourceParts<T>
  #latest: Fetched<T> | undefined
  #fetching: { readonly number: number; readonly result: Promise<T> } | undefined
  #lastError: unknown

  constructor(parts: SharedSourceParts<T>) {
    this.place = parts.place
    this.history = new SourceHistory(parts.clock)
    this.#parts = parts
  }

  /** What a fetch with a greater number brought, if there was one. */
  fetchedAfter(number: number): Fetched<T> | undefined {
    return this.#latest !== undefined && this.#latest.number > number ? this.#latest : undefined
  }

  /**
   * As `fetchedAfter`, fetched now if need be; when that failed too often of late, it throws why without
   * another try.
   */
  async needAfter(number: number, onFetch: OnFetch): Promise<T> {
    for (;;) {
      const known = this.fetchedAfter(number)
      if (known !== undefined) return known.value
      if (this.#fetching === undefined) return this.#tryFetch(onFetch)
      if (this.#fetching.number > number) return this.#fetching.result
      // it began too early to count, but there is one fetch at a time
      await this.#fetching.result.catch(() => undefined)
    }
  }

  /**
   * Something newer than what is known and did not serve; undefined when that was asked for too often of
   * late.
   */
  async newer(onFetch: OnFetch): Promise<T | undefined> {
    if (this.#fetching !== undefined) return this.#fetching.result
    return this.#parts.limits.misses.take(keyOf(this.place)) ? this.#fetch(onFetch) : undefined
  }

  async #tryFetch(onFetch: OnFetch): Promise<T> {
    const { failures } = this.#parts.limits
    const key = keyOf(this.place)
    if (this.#lastError !== undefined && !failures.holds(key)) throw this.#lastError
    try {
      return await this.#fetch(onFetch)
    } catch (error) {
      failures.take(key)
      throw error
    }
  }

  #fetch(onFetch: OnFetch): Promise<T> {
    const { numbers, fetch } = this.#parts
    numbers.last += 1
    const number = numbers.last
    const result = this.history.of(fetch, onFetch).then(
      (value) => {
        this.#latest = { value, number }
        this.#lastError = undefined
        this.#fetching = undefined
        return value
      },
      (error: unknown) => {
        this.#lastError = error
        this.#fetching = undefined
        throw error
      },
    )
    this.#fetching = { number, result }
    return result
  }
}
