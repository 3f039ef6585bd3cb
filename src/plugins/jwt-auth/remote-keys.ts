import { type OutboundClient, OutboundError } from '../../core/outbound.ts'
import { excerpt } from '../../lib/go-text.ts'
import type { FetchBuckets } from './fetch-bucket.ts'
import { JwkSet } from './jwk-set.ts'
import { type AnswerNote, SourceHistory, type SourceHistoryParts } from './source-history.ts'

/** Where keys are published, and the PEM roots that vouch for the connection ("" for the system's). */
export type KeySource = { readonly url: string; readonly caPem: string }

/** Why keys could not be had; the text follows `fetching keys oidc: `. */
export class KeyFetchError extends Error {
  override readonly name = 'KeyFetchError'
}

/** Fetches one JWK set. Throws `KeyFetchError`. */
export async function fetchJwkSet(outbound: OutboundClient, { url, caPem }: KeySource, note?: AnswerNote): Promise<JwkSet> {
  const answer = await outbound.get(url, { caPem }).catch((error: unknown) => {
    throw new KeyFetchError(`get keys failed ${error instanceof OutboundError ? error.message : 'for an unknown cause'}`, { cause: error })
  })
  if (note !== undefined) note.date = answer.headers.date
  const body = () => excerpt(answer.body.toString('utf8', 0, 1024))
  if (answer.status !== 200) throw new KeyFetchError(`get keys failed: ${answer.status} ${answer.statusText} ${body()}`)
  try {
    return new JwkSet(answer.body)
  } catch (error) {
    throw new KeyFetchError(`failed to decode keys: ${error instanceof Error ? excerpt(error.message) : ''} ${body()}`, { cause: error })
  }
}

/**
 * The keys of one URL, kept until the mount's configuration changes: there is no greatest age, and keys once fetched serve while the provider is
 * down. Contract jwt-oidc §2.5.
 */
export class RemoteKeys {
  readonly source: KeySource
  readonly history: SourceHistory
  readonly #outbound: OutboundClient
  readonly #buckets: FetchBuckets
  #current: JwkSet | undefined
  #fetching: Promise<JwkSet> | undefined
  #lastError: KeyFetchError | undefined

  constructor(source: KeySource, { outbound, buckets, ...parts }: SourceHistoryParts & { outbound: OutboundClient; buckets: FetchBuckets }) {
    this.source = source
    this.history = new SourceHistory(parts)
    this.#outbound = outbound
    this.#buckets = buckets
  }

  get current(): JwkSet | undefined {
    return this.#current
  }

  /**
   * A set newer than `tried`. Callers at the same time share one fetch. When the URL was asked too often of late, it is what another mount found there,
   * or undefined. Throws `KeyFetchError`; the keys already known stay.
   */
  async newerThan(tried: JwkSet | undefined): Promise<JwkSet | undefined> {
    if (this.#current !== tried) return this.#current
    if (this.#fetching === undefined) {
      if (!this.#buckets.take(this.source.url)) return this.#fetchedElsewhere(tried)
      this.#fetching = this.#fetch()
    }
    return this.#fetching
  }

  #fetchedElsewhere(tried: JwkSet | undefined): JwkSet | undefined {
    const news = this.#buckets.newsOf(this.source)
    if (news !== undefined && news !== tried) {
      this.#current = news
      return news
    }
    if (tried === undefined) throw this.#lastError ?? new KeyFetchError('get keys failed: asked too often')
    return undefined
  }

  async #fetch(): Promise<JwkSet> {
    try {
      this.#current = await this.history.of((note) => fetchJwkSet(this.#outbound, this.source, note))
      this.#lastError = undefined
      this.#buckets.keepNews(this.source, this.#current)
      return this.#current
    } catch (error) {
      if (error instanceof KeyFetchError) this.#lastError = error
      throw error
    } finally {
      this.#fetching = undefined
    }
  }
}
