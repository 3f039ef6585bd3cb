import { Cache } from '../../../lib/data/cache.ts'
import type { Clock } from '../../../lib/system/clock.ts'
import type { FreshToken } from '../upstream/transport.ts'

/** An access token, when it was asked for, in milliseconds since the epoch, and its text in a JSON document. */
export type KeptToken = FreshToken & { readonly askedAt: number; readonly quoted: string }

export type TokenKey = { readonly holder: string; readonly clientId: string; readonly scope: string }

type Entry = KeptToken & { readonly holder: string }

/** A scope has no spaces, and the name of a holder no line breaks. */
const idOf = ({ holder, clientId, scope }: TokenKey): string => `${scope} ${holder}\n${clientId}`

/**
 * In memory only. One request at a time is made for each holder and scope; its token is given again while half of
 * its life is left. docs/contract/cloud.md#access-tokens
 */
export class KeptTokens {
  readonly #clock: Clock
  readonly #kept = new Cache<Entry>({ name: 'access tokens', most: 2_000 })
  readonly #running = new Map<string, Promise<KeptToken>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns a kept token, or one that `request` gets; `isFresh`: one that is asked for from now on. */
  async get(key: TokenKey, isFresh: boolean, request: () => Promise<FreshToken>): Promise<KeptToken> {
    const id = idOf(key)
    const kept = isFresh ? undefined : this.#kept.get(id)
    if (kept !== undefined && this.#clock.now() < kept.askedAt + kept.lifetimeMs / 2) return kept
    const running = this.#running.get(id)
    if (running === undefined) return this.#ask(id, key, request)
    if (!isFresh) return running
    await running.catch(() => undefined)
    return this.#running.get(id) ?? this.#ask(id, key, request)
  }

  /** Drops the tokens of a holder. Requests that run are answered, but their tokens are not kept. */
  drop(holder: string): void {
    this.#kept.dropWhere((entry) => entry.holder === holder)
    this.#running.clear()
  }

  dropAll(): void {
    this.#kept.dropAll()
    this.#running.clear()
  }

  #ask(id: string, { holder }: TokenKey, request: () => Promise<FreshToken>): Promise<KeptToken> {
    const { drops } = this.#kept
    const askedAt = this.#clock.now()
    const running = request()
      .then((token) => {
        const kept = { ...token, askedAt, quoted: JSON.stringify(token.token) }
        this.#kept.set(id, { ...kept, holder }, drops)
        return kept
      })
      .finally(() => {
        if (this.#running.get(id) === running) this.#running.delete(id)
      })
    this.#running.set(id, running)
    return running
  }
}
