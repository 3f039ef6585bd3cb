import type { Clock } from '../../lib/clock.ts'
import type { JwkSet } from './jwk-set.ts'

const capacity = 10
const refillMs = 6000
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
  readonly #levelByUrl = new Map<string, { tokens: number; at: number; news: News | undefined }>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** True if a fetch may be made now; it is then counted. */
  take(url: string): boolean {
    const now = this.#clock.now()
    if (this.#levelByUrl.size > pruneAbove) this.#dropFull(now)
    const tokens = this.#tokensOf(url, now)
    const allowed = tokens >= 1
    this.#levelByUrl.set(url, { tokens: allowed ? tokens - 1 : tokens, at: now, news: this.#levelByUrl.get(url)?.news })
    return allowed
  }

  /** Keeps what a fetch brought for those who may not make one. */
  keepNews({ url, caPem }: Source, set: JwkSet): void {
    const level = this.#levelByUrl.get(url)
    if (level !== undefined) level.news = { set: new WeakRef(set), caPem, at: this.#clock.now() }
  }

  /** What any mount fetched from there a moment ago. */
  newsOf({ url, caPem }: Source): JwkSet | undefined {
    const news = this.#levelByUrl.get(url)?.news
    return news !== undefined && news.caPem === caPem && this.#clock.now() < news.at + newsMs ? news.set.deref() : undefined
  }

  #tokensOf(url: string, now: number): number {
    const level = this.#levelByUrl.get(url)
    return level === undefined ? capacity : Math.min(capacity, level.tokens + Math.max(0, now - level.at) / refillMs)
  }

  /** A full bucket is as good as none. */
  #dropFull(now: number): void {
    for (const url of this.#levelByUrl.keys()) if (this.#tokensOf(url, now) >= capacity) this.#levelByUrl.delete(url)
  }
}
