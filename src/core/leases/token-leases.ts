import type { Token } from '../tokens/store/token.ts'
import type { StoredToken, TokenStore } from '../tokens/store/token-store.ts'
import type { LeaseRef } from './lease.ts'
import { hashOfTokenLease, tokenLeaseId } from './lease-view.ts'

/** A token and the id of its lease. */
export type LeasedToken = { readonly id: string; readonly token: Token }

/**
 * The leases of tokens. They are derived from the tokens, not stored, which saves writes at login. Lists and
 * prefix operations scan all tokens and let requests run between pages. The first root token and batch tokens
 * have no lease. docs/contract/leases.md#what-has-a-lease
 */
export class TokenLeases {
  readonly #tokens: TokenStore

  constructor(tokens: TokenStore) {
    this.#tokens = tokens
  }

  /** Whether the id has the form of a token's lease id. */
  isTokenLease(id: string): boolean {
    return hashOfTokenLease(id) !== undefined
  }

  /** The valid token with this lease id. */
  async find({ namespace, id }: LeaseRef): Promise<Token | undefined> {
    const hash = hashOfTokenLease(id)
    const stored = hash === undefined ? undefined : await this.#tokens.tokenByHash(hash)
    const leased = stored === undefined ? undefined : await this.#leased(stored, namespace)
    return leased?.id === id ? leased.token : undefined
  }

  /** The leased tokens of a namespace whose lease ids begin with `prefix`. */
  async *under(namespace: string, prefix: string): AsyncGenerator<LeasedToken> {
    for await (const page of this.#tokens.pages())
      for (const stored of page) {
        if (!`${stored.token.path}/`.startsWith(prefix)) continue
        const leased = await this.#leased(stored, namespace)
        if (leased !== undefined) yield leased
      }
  }

  async #leased({ token, hash }: StoredToken, namespace: string): Promise<LeasedToken | undefined> {
    if (token.namespace !== namespace || token.initial_root === true || !(await this.#tokens.isValid(token)))
      return undefined
    return { id: tokenLeaseId(token, hash), token }
  }
}
