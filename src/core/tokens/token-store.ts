import { fail } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { base62, type Random } from '../../lib/random.ts'
import { keep } from '../../storage/storage.ts'
import type { View, ViewEntry } from '../barrier/view.ts'
import type { Mount } from '../mounts/mount.ts'
import { RecordCache } from '../record-cache.ts'
import { writeAttempts } from '../stored-record.ts'
import { Turns } from '../turns.ts'
import { readToken, type Token } from './token.ts'
import { childKey, childPrefix, expireKey, maxIdLength, TokenKeys, tokenKey } from './token-keys.ts'

export type TokenStoreParts = {
  /** The core's view: tokens and identity lie in the same one, so that a login is one write. */
  readonly view: View
  readonly clock: Clock
  readonly random: Random
  mountOf(accessor: string): Mount | undefined
}

/** What decides a new token; the rest is made by `mint`. */
export type TokenDraft = Omit<
  Token,
  'accessor' | 'cubbyhole_id' | 'creation_time' | 'issue_time' | 'expire_time' | 'granted_ttl' | 'granted_uses' | 'last_renewal'
>

/** A new token that is not stored yet: to be written with `entries`, then handed to `remember`. */
export type Minted = { readonly id: string; readonly token: Token; readonly entries: readonly ViewEntry[] }

/** A stored token and its revision. */
export type StoredToken = { readonly hash: string; readonly token: Token; readonly revision: number }

const cacheLimit = 10_000
/** Names, metadata and policies of a token whose copy is kept in memory. */
const maxCachedText = 4096
const idPrefix = 'hvs.'
const randomLength = 24

/** Service tokens: their records, and whether one is valid now. Contract tokens §1. */
export class TokenStore {
  readonly keys: TokenKeys
  readonly #view: View
  readonly #clock: Clock
  readonly #random: Random
  readonly #mountOf: TokenStoreParts['mountOf']
  /** By accessor. Tokens with limited uses are not in it: their record changes with every request. */
  readonly #cache = new RecordCache<Token>(cacheLimit, maxCachedText)
  /** By hash. Uses are spent behind a change that waits, so that they cannot keep it from ever getting through. */
  readonly #changes = new Turns()

  private constructor(parts: TokenStoreParts, keys: TokenKeys) {
    this.keys = keys
    this.#view = parts.view
    this.#clock = parts.clock
    this.#random = parts.random
    this.#mountOf = parts.mountOf
  }

  static async open(parts: TokenStoreParts): Promise<TokenStore> {
    return new TokenStore(parts, await TokenKeys.open(parts.view, parts.random))
  }

  /** The valid token with this id. Undefined: unknown, expired, spent, revoked, or its mount or an ancestor is gone. */
  async lookup(id: string): Promise<Token | undefined> {
    return id.length > maxIdLength ? undefined : this.lookupByAccessor(this.keys.accessorOf(id))
  }

  async lookupByAccessor(accessor: string): Promise<Token | undefined> {
    const token = this.#cache.get(accessor) ?? (await this.find(accessor))
    if (token === undefined || !this.#isUsable(token)) return undefined
    return token.parent === '' || (await this.#hasValidAncestors(token)) ? token : undefined
  }

  /** The stored token, valid or not. */
  async find(accessor: string): Promise<Token | undefined> {
    if (accessor.length > maxIdLength) return undefined
    return this.#cache.read(accessor, () => this.#load(accessor), isCacheable)
  }

  async #load(accessor: string): Promise<Token | undefined> {
    const value = await this.#view.get(tokenKey(this.keys.hashOf(accessor)))
    return value === undefined ? undefined : readToken(value)
  }

  isExpired(token: Token): boolean {
    return token.expire_time !== null && token.expire_time <= this.#clock.now()
  }

  /** The mount that issued it still stands, and has not been moved since. */
  #isUsable(token: Token): boolean {
    if (token.num_uses < 0 || this.isExpired(token)) return false
    const mount = this.#mountOf(token.mount_accessor)
    return mount !== undefined && !mount.tainted && token.issue_time >= mount.tokensValidFrom
  }

  async #hasValidAncestors(token: Token): Promise<boolean> {
    for (let accessor = token.parent; accessor !== ''; ) {
      const ancestor = await this.find(accessor)
      if (ancestor === undefined || !this.#isUsable(ancestor)) return false
      accessor = ancestor.parent
    }
    return true
  }

  /**
   * Takes one use off a token with limited uses, durably, and gives it back as it is from now on (−1: this was the last). Undefined when the last
   * use is already taken. A token without limit comes back as it is. Contract tokens §1.7.
   */
  async spendUse(token: Token): Promise<Token | undefined> {
    if (token.num_uses === 0) return token
    const hash = this.keys.hashOf(token.accessor)
    await this.#changes.workOn(hash)
    let spent: Token | undefined
    await this.#view.update(tokenKey(hash), (current) => {
      spent = undefined
      if (current === undefined) return keep
      const stored = readToken(current)
      if (stored.num_uses <= 0 || this.isExpired(stored)) return keep
      spent = { ...stored, num_uses: stored.num_uses === 1 ? -1 : stored.num_uses - 1 }
      return spent
    })
    return spent
  }

  /** A token record with all it needs to be stored. `id` only where the caller chose it; then an existing one makes the write fail. */
  mint(draft: TokenDraft, id?: string): Minted {
    const now = this.#clock.now()
    const own = id ?? idPrefix + base62(this.#random, randomLength)
    const token: Token = {
      accessor: this.keys.accessorOf(own),
      ...draft,
      cubbyhole_id: base62(this.#random, randomLength),
      granted_uses: draft.num_uses,
      granted_ttl: draft.ttl,
      creation_time: now,
      issue_time: now,
      expire_time: draft.ttl > 0 ? now + draft.ttl * 1000 : null,
    }
    const hash = this.keys.hashOf(token.accessor)
    const entries: ViewEntry[] = [{ key: tokenKey(hash), value: token, ...(id === undefined ? {} : { expect: 'absent' }) }]
    if (token.expire_time !== null) entries.push({ key: expireKey(token.expire_time, hash), value: true })
    if (token.parent !== '') entries.push({ key: childKey(this.keys.hashOf(token.parent), hash), value: true })
    return { id: own, token, entries }
  }

  /** To be called once the entries of a minted token are written. */
  remember(token: Token): void {
    if (isCacheable(token)) this.#cache.set(token.accessor, token)
  }

  /** Drops the copy of a record that was changed or deleted. */
  forget(accessor: string): void {
    this.#cache.drop(accessor)
  }

  async stored(hash: string): Promise<StoredToken | undefined> {
    const record = await this.#view.read(tokenKey(hash))
    return record === undefined ? undefined : { hash, token: readToken(record.value), revision: record.revision }
  }

  /** Hashes of direct children, at most `limit`. */
  async childrenOf(hash: string, limit: number): Promise<string[]> {
    const prefix = childPrefix(hash)
    const keys = await this.#view.listKeys(prefix, { limit })
    return keys.map((key) => key.slice(prefix.length))
  }

  /**
   * Changes a stored token and its expiry row together; `change` may run again, and gives undefined to leave it as it is.
   * Gives back what is stored then; undefined when there is no such token.
   */
  change(hash: string, change: (token: Token) => Token | undefined, more: readonly ViewEntry[] = []): Promise<Token | undefined> {
    return this.#changes.take(hash, () => this.#change(hash, change, more))
  }

  async #change(hash: string, change: (token: Token) => Token | undefined, more: readonly ViewEntry[]): Promise<Token | undefined> {
    for (let attempt = 0; attempt < writeAttempts; attempt += 1) {
      const before = await this.stored(hash)
      if (before === undefined) return undefined
      const after = change(before.token)
      if (after === undefined) return before.token
      const entries: ViewEntry[] = [{ key: tokenKey(hash), value: after, expect: before.revision }, ...more]
      if (after.expire_time !== before.token.expire_time) {
        if (before.token.expire_time !== null) entries.push({ key: expireKey(before.token.expire_time, hash), value: undefined })
        if (after.expire_time !== null) entries.push({ key: expireKey(after.expire_time, hash), value: true })
      }
      try {
        if (await this.#view.write(entries)) return after
      } finally {
        // also when it failed: then it may be stored all the same
        this.forget(after.accessor)
      }
    }
    throw fail('unavailable', 'too many changes to one token at a time')
  }
}

const isCacheable = (token: Token): boolean => token.num_uses === 0
