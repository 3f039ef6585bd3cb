import { type DiscoveryDocument, DiscoveryError, discover } from './discovery.ts'
import { JwksKeyset, type Keyset, type KeysetParts, type KeysetSource, unavailableKeys, type VerifiedToken } from './keyset.ts'
import type { Refusal } from './refusal.ts'
import type { KeySource } from './remote-keys.ts'
import { SourceHistory } from './source-history.ts'

/** A provider that could be reached: its metadata and its keys. */
export type ReadyProvider = { readonly document: DiscoveryDocument; readonly keys: JwksKeyset }

/**
 * An OpenID provider found by discovery; done again until it once succeeded, then never. Its keys serve JWT logins and the OIDC flow alike. Contract
 * jwt-oidc §2.5, §2.6.
 */
export class DiscoveredProvider implements Keyset {
  readonly #source: KeySource
  readonly #parts: KeysetParts
  readonly #history: SourceHistory
  #ready: ReadyProvider | undefined
  #discovering: Promise<ReadyProvider> | undefined
  #lastError = 'asked too often'

  constructor(source: KeySource, parts: KeysetParts) {
    this.#source = source
    this.#parts = parts
    this.#history = new SourceHistory(parts)
  }

  async verify(token: string): Promise<VerifiedToken | Refusal> {
    try {
      const { keys } = await this.ready()
      return await keys.verify(token)
    } catch (error) {
      if (!(error instanceof DiscoveryError)) throw error
      return unavailableKeys(`error configuring token validator: keyset configuration error: ${error.message}`)
    }
  }

  sources(): readonly KeysetSource[] {
    const published = this.#ready?.keys.sources() ?? []
    const keys = published.flatMap((source) => source.keys)
    const histories = [this.#history, ...published.flatMap((source) => source.histories)]
    const skipped = published.flatMap((source) => source.skipped)
    return [{ kind: 'discovery', url: this.#source.url, keys, skipped, histories }]
  }

  async refresh(): Promise<void> {
    try {
      const { keys } = await this.ready()
      await keys.refresh()
    } catch (error) {
      if (!(error instanceof DiscoveryError)) throw error
    }
  }

  /** Throws `DiscoveryError`. */
  async ready(): Promise<ReadyProvider> {
    if (this.#ready !== undefined) return this.#ready
    if (this.#discovering === undefined) {
      if (!this.#parts.buckets.take(this.#source.url)) throw new DiscoveryError(this.#lastError)
      this.#discovering = this.#discover()
    }
    return this.#discovering
  }

  async #discover(): Promise<ReadyProvider> {
    try {
      const document = await this.#history.of((note) => discover(this.#parts.outbound, this.#source, note))
      this.#ready = { document, keys: new JwksKeyset({ url: document.jwks_uri, caPem: this.#source.caPem }, this.#parts) }
      return this.#ready
    } catch (error) {
      if (error instanceof DiscoveryError) this.#lastError = error.message
      throw error
    } finally {
      this.#discovering = undefined
    }
  }
}
