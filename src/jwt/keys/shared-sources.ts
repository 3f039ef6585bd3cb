import type { OutboundClient } from '../../core/outbound/outbound.ts'
import { Buckets } from '../../lib/concurrency/buckets.ts'
import type { Clock } from '../../lib/system/clock.ts'
import { type DiscoveryDocument, discover } from './discovery.ts'
import { fetchJwkSet, type KeySource } from './fetch-jwk-set.ts'
import type { JwkSet } from './jwk-set.ts'
import { type ResponseDate, SourceHistory } from './source-history.ts'

/**
 * Mounts that name the same URL, roots and server names share documents and limits. A fetch with others does
 * not count as newer.
 */
const keyOf = ({ url, caPem, serverNames = [] }: KeySource): string =>
  JSON.stringify([url, caPem, serverNames])

/** Called after each fetch. */
export type OnFetch = (succeeded: boolean) => void

/** A burst of ten fetches for tokens that no known key verifies, then one every six seconds. */
export const missLimit = { capacity: 10, refillMs: 6000 }
/**
 * Ten failures in a row, then one attempt a second, so that logins do not wait long after a provider
 * recovers.
 */
export const failureLimit = { capacity: 10, refillMs: 1000 }
const pruneAbove = 1000

/**
 * Key sets and discovery documents, shared by all mounts that name the same URL and roots. Only one fetch of
 * each runs at a time. docs/contract/jwt.md#keys
 */
export class SharedSources {
  readonly #numbers: { readonly last: number }
  /** In milliseconds since the epoch. */
  readonly #startedAt: number
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
    this.#startedAt = clock.now()
  }

  keySet(place: KeySource): SharedSource<JwkSet> {
    return this.#keySets.at(place)
  }

  document(place: KeySource): SharedSource<DiscoveryDocument> {
    return this.#documents.at(place)
  }

  /** The number of the most recent fetch. Later fetches have greater numbers. */
  get lastNumber(): number {
    return this.#numbers.last
  }

  /** The number of the last fetch that may have begun by this time, in milliseconds since the epoch. */
  lastNumberBefore(time: number): number {
    return time <= this.#startedAt ? 0 : this.lastNumber
  }
}

/** The sources in use; the others may be garbage-collected. */
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

/** A fetched document, and the number of its fetch. */
export type Fetched<T> = { readonly value: T; readonly number: number }

type SharedSourceParts<T> = {
  readonly place: KeySource
  readonly clock: Clock
  readonly numbers: { last: number }
  readonly limits: { readonly misses: Buckets; readonly failures: Buckets }
  fetch(note: ResponseDate): Promise<T>
}

/** What one URL publishes. It is kept until a newer one is fetched, even if fetches fail. */
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

  /** The newest document. */
  get latest(): T | undefined {
    return this.#latest?.value
  }

  /** Why the last fetch failed; undefined if it did not. */
  get lastError(): unknown {
    return this.#lastError
  }

  /** The document of a fetch with a greater number, if there is one. */
  fetchedAfter(number: number): Fetched<T> | undefined {
    return this.#latest !== undefined && this.#latest.number > number ? this.#latest : undefined
  }

  /**
   * Like `fetchedAfter`, but fetches if necessary. After too many recent failures, it throws the last one
   * without another attempt.
   */
  async needAfter(number: number, onFetch: OnFetch): Promise<T> {
    for (;;) {
      const known = this.fetchedAfter(number)
      if (known !== undefined) return known.value
      if (this.#fetching === undefined) return this.#tryFetch(onFetch)
      if (this.#fetching.number > number) return this.#fetching.result
      // it began too early to count, but only one fetch runs at a time
      await this.#fetching.result.catch(() => undefined)
    }
  }

  /**
   * A document newer than the known one, which did not suffice; undefined if this was requested too often
   * recently.
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

/** How a mount fetches keys. */
export type RemoteKeysParts = {
  readonly sources: SharedSources
  /** Fetches up to this number began before the mount was configured. */
  readonly fetchedAfter: number
  /** Called after each fetch that this mount began. */
  readonly onFetch: OnFetch
}

/** What depends on key sets alone. */
export type KeySetParts<Parts extends RemoteKeysParts> = Omit<Parts, 'sources'> & {
  readonly sources: Pick<SharedSources, 'keySet'>
}

/**
 * The keys of one URL for one mount: only fetches that began after the mount was configured count. Keys have
 * no maximum age, so fetched keys serve while the provider is down. docs/contract/jwt.md#keys
 */
export class RemoteKeys {
  readonly #shared: SharedSource<JwkSet>
  readonly #parts: KeySetParts<RemoteKeysParts>

  constructor(source: KeySource, parts: KeySetParts<RemoteKeysParts>) {
    this.#shared = parts.sources.keySet(source)
    this.#parts = parts
  }

  get source(): KeySource {
    return this.#shared.place
  }

  get history(): SourceHistory {
    return this.#shared.history
  }

  get current(): JwkSet | undefined {
    return this.#shared.fetchedAfter(this.#parts.fetchedAfter)?.value
  }

  /**
   * Returns a set newer than `tried`. Concurrent callers of all mounts share one fetch. Returns undefined if
   * tokens that no key verifies came too often recently; a mount without keys is exempt. Throws
   * `KeyFetchError`; known keys stay.
   */
  async newerThan(tried: JwkSet | undefined): Promise<JwkSet | undefined> {
    const { current } = this
    if (current !== tried) return current
    const { fetchedAfter, onFetch } = this.#parts
    return tried === undefined ? this.#shared.needAfter(fetchedAfter, onFetch) : this.#shared.newer(onFetch)
  }
}
