import type { KeySource } from './fetch-jwk-set.ts'
import type { JwkSet } from './jwk-set.ts'
import type { OnFetch, SharedSource, SharedSources } from './shared-sources.ts'
import type { SourceHistory } from './source-history.ts'

/** How a mount fetches keys. */
export type RemoteKeysParts = {
  readonly sources: SharedSources
  /** Fetches up to this number began before the mount was configured. */
  readonly fetchedAfter: number
  /** Called after each fetch that this mount began. */
  readonly onFetch: OnFetch
}

/**
 * The keys of one URL for one mount: only fetches that began after the mount was configured count. Keys have
 * no maximum age, so fetched keys serve while the provider is down. docs/contract/jwt.md#keys
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
