import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Token } from '../tokens/token.ts'
import type { StoredToken, TokenStore } from '../tokens/token-store.ts'
import type { LeaseRef } from './lease.ts'
import { hashOfTokenLease, tokenLeaseId } from './lease-view.ts'

/** A token, and the id of its lease. */
export type LeasedToken = { readonly id: string; readonly token: Token }

const pageSize = 200

/**
 * The leases of tokens: not stored, but read off the tokens themselves, so that a login writes nothing more. Lists and prefixes walk all tokens, and give way
 * to requests as they go. The token a server was initialised with and batch tokens have none. docs/contract/leases.md#what-has-a-lease.
 */
export class TokenLeases {
  readonly #tokens: TokenStore

  constructor(tokens: TokenStore) {
    this.#tokens = tokens
  }

  /** Is this an id only tokens have? */
  isTokenLease(id: string): boolean {
    return hashOfTokenLease(id) !== undefined
  }

  /** The valid token whose lease this is. */
  async find({ namespace, id }: LeaseRef): Promise<Token | undefined> {
    const hash = hashOfTokenLease(id)
    const stored = hash === undefined ? undefined : await this.#tokens.tokenByHash(hash)
    const leased = stored === undefined ? undefined : await this.#leased(stored, namespace)
    return leased?.id === id ? leased.token : undefined
  }

  /** The leased tokens of a namespace whose lease ids begin with `prefix`. */
  async *under(namespace: string, prefix: string): AsyncGenerator<LeasedToken> {
    for (let after: string | undefined; ; await nextTurn()) {
      const page: StoredToken[] = await this.#tokens.scan({ limit: pageSize, ...(after === undefined ? {} : { after }) })
      for (const stored of page) {
        if (!`${stored.token.path}/`.startsWith(prefix)) continue
        const leased = await this.#leased(stored, namespace)
        if (leased !== undefined) yield leased
      }
      after = page.at(-1)?.hash
      if (after === undefined) return
    }
  }

  async #leased({ token, hash }: StoredToken, namespace: string): Promise<LeasedToken | undefined> {
    if (token.namespace !== namespace || token.initial_root === true || !(await this.#tokens.isValid(token))) return undefined
    return { id: tokenLeaseId(token, hash), token }
  }
}
