import type { KeySource } from './fetch-jwk-set.ts'
import type { JwkSet } from './jwk-set.ts'
import type { OnFetch, SharedSource, SharedSources } from './shared-sources.ts'
import type { SourceHistory } from './source-history.ts'

/** How a mount gets at keys. */
export type RemoteKeysParts = {
  readonly sources: SharedSources
  /** Fetches up to this number were made before the mount was configured. */
  readonly fetchedAfter: number
  /** Told of each fetch that this mount began and that is over. */
  readonly onFetch: OnFetch
}

/**
 * The keys of one URL as one mount uses them: those that a fetch brought which began after the mount was
 * configured. There is no greatest age, and keys once fetched serve while the provider is down.
 * docs/contract/jwt.md#keys.
 */
export class RemoteKeys {
  readonly #shared: SharedSource<JwkSet>
  readonly #parts: RemoteKeysParts

  constructor(source: KeySource, parts: RemoteKeysParts) {
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
   * A set newer than `tried`. All who ask at the same time, at any mount, share one fetch. Undefined when
   * tokens that no key verifies came too often of late; a mount that has no keys yet does not count among
   * those. Throws `KeyFetchError`; the keys already known stay.
   */
  async newerThan(tried: JwkSet | undefined): Promise<JwkSet | undefined> {
    const { current } = this
    if (current !== tried) return current
    const { fetchedAfter, onFetch } = this.#parts
    return tried === undefined ? this.#shared.needAfter(fetchedAfter, onFetch) : this.#shared.newer(onFetch)
  }
}
