import type { KeyObject } from 'node:crypto'
import type { Refusal } from '../../logins/refusals/refusal.ts'
import { type DiscoveryDocument, DiscoveryError } from './discovery.ts'
import type { KeySource } from './fetch-jwk-set.ts'
import {
  JwksKeyset,
  type Keyset,
  type KeysetParts,
  type KeysetSource,
  unavailableKeys,
  type VerifiedToken,
} from './keyset.ts'
import type { SharedSource } from './shared-sources.ts'

/** A provider that was reached: its metadata and its keys. */
export type ReadyProvider = { readonly document: DiscoveryDocument; readonly keys: JwksKeyset }

/** A mount without a document uses one of another mount if it is at most this old. */
const recentMs = 3_600_000

/**
 * An OpenID provider found by discovery, which is repeated until it succeeds once. JWT logins and browser
 * logins share its keys. docs/contract/jwt.md#keys
 */
export class DiscoveredProvider implements Keyset {
  readonly #shared: SharedSource<DiscoveryDocument>
  readonly #parts: KeysetParts
  #ready: ReadyProvider | undefined

  constructor(source: KeySource, parts: KeysetParts) {
    this.#shared = parts.sources.document(source)
    this.#parts = parts
  }

  async verify(token: string, client: string): Promise<VerifiedToken | Refusal> {
    try {
      const { keys } = await this.ready()
      return await keys.verify(token, client)
    } catch (error) {
      if (!(error instanceof DiscoveryError)) throw error
      return unavailableKeys(
        `error configuring token validator: keyset configuration error: ${error.message}`,
      )
    }
  }

  has(keyId: string, key: KeyObject): boolean {
    return this.#ready?.keys.has(keyId, key) === true
  }

  sources(): readonly KeysetSource[] {
    const published = this.#ready?.keys.sources() ?? []
    const keys = published.flatMap((source) => source.keys)
    const skipped = published.flatMap((source) => source.skipped)
    const histories = [this.#shared.history, ...published.flatMap((source) => source.histories)]
    const keysFetchedAt = published[0]?.keysFetchedAt
    const document = this.#seenDocument()
    return [
      { kind: 'discovery', url: this.#shared.place.url, keys, skipped, histories, keysFetchedAt, document },
    ]
  }

  #seenDocument(): KeysetSource['document'] {
    const { latest: value, lastError, history } = this.#shared
    if (lastError instanceof DiscoveryError && lastError.issuer !== undefined)
      return { at: history.lastError?.time ?? 0, issuer: lastError.issuer }
    return value && { at: history.fetchedAt ?? 0, value }
  }

  async refresh(): Promise<void> {
    try {
      const known = this.#ready
      const { keys } = await this.ready()
      await keys.refresh()
      // its endpoints stay in use; that they have changed is something to know
      if (known !== undefined) await this.#shared.newer(this.#parts.onFetch)
    } catch (error) {
      if (!(error instanceof DiscoveryError)) throw error
    }
  }

  /** Throws `DiscoveryError`. */
  async ready(): Promise<ReadyProvider> {
    if (this.#ready !== undefined) return this.#ready
    const document = await this.#document()
    // another login may have set it meanwhile
    this.#ready ??= {
      document,
      keys: new JwksKeyset({ ...this.#shared.place, url: document.jwks_uri }, this.#parts),
    }
    return this.#ready
  }

  /** An old document of another mount is used only if the provider cannot be reached now. */
  async #document(): Promise<DiscoveryDocument> {
    const { fetchedAfter, onFetch, clock } = this.#parts
    const known = this.#shared.fetchedAfter(fetchedAfter)
    if (known === undefined) return this.#shared.needAfter(fetchedAfter, onFetch)
    if (clock.now() - (this.#shared.history.fetchedAt ?? 0) <= recentMs) return known.value
    try {
      return await this.#shared.needAfter(known.number, onFetch)
    } catch (error) {
      if (error instanceof DiscoveryError) return known.value
      throw error
    }
  }
}
