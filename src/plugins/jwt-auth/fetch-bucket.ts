import { Buckets } from '../../lib/buckets.ts'
import type { Clock } from '../../lib/clock.ts'
import type { JwkSet } from './jwk-set.ts'

const size = { capacity: 10, refillMs: 6000 }
const pruneAbove = 1000
/** Longer than a bucket that is asked for stays empty. */
const newsMs = 30_000

/** Where keys are fetched from, and by which roots. */
type Source = { readonly url: string; readonly caPem: string }

/** What a URL was last found to publish, and by which roots; as long as a mount goes by it. */
type News = { readonly set: WeakRef<JwkSet>; readonly caPem: string; readonly at: number }

/**
 * How often each key URL may be fetched because of what a caller sent: ten times at once, then one more every six seconds. One per process, shared
 * by all mounts; so is what was fetched, or who empties a bucket at one mount would keep new keys from the others. Contract README "JWKS refetch".
 */
export class FetchBuckets {
  readonly #buckets: Buckets
  readonly #newsByUrl = new Map<string, News>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
    this.#buckets = new Buckets(clock, size)
  }

  /** True if a fetch may be made now; it is then counted. */
  take(url: string): boolean {
    return this.#buckets.take(url)
  }

  /** Keeps what a fetch brought for those who may not make one. */
  keepNews({ url, caPem }: Source, set: JwkSet): void {
    const now = this.#clock.now()
    if (this.#newsByUrl.size > pruneAbove) this.#dropOld(now)
    this.#newsByUrl.set(url, { set: new WeakRef(set), caPem, at: now })
  }

  /** What any mount fetched from there a moment ago. */
  newsOf({ url, caPem }: Source): JwkSet | undefined {
    const news = this.#newsByUrl.get(url)
    return news !== undefined && news.caPem === caPem && this.#clock.now() < news.at + newsMs ? news.set.deref() : undefined
  }

  #dropOld(now: number): void {
    for (const [url, { at }] of this.#newsByUrl) if (now >= at + newsMs) this.#newsByUrl.delete(url)
  }
}
