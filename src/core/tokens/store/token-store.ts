import { Cache } from '../../../lib/data/cache.ts'
import type { Clock } from '../../../lib/system/clock.ts'
import { base62, type Random } from '../../../lib/system/random.ts'
import type { Copies } from '../../../storage/shared-storage.ts'
import { keep, type WriteOptions } from '../../../storage/storage.ts'
import type { View, ViewEntry } from '../../barrier/view.ts'
import { type LeaseLimit, noLeaseLimit } from '../../leases/lease-limit.ts'
import type { Mount } from '../../mounts/mount.ts'
import { fixedPaths } from '../../mounts/mount-path.ts'
import { suffixOf } from '../../namespaces/suffix.ts'
import type { CacheUses } from '../../records/cache-use.ts'
import { Changes, type Write } from '../../records/change.ts'
import { isUnreadable } from '../../records/stored-record.ts'
import { BatchTokens, batchRecord, batchToken, isBatchId, type Sealer } from './batch-tokens.ts'
import type { CoreEvents, TokenSource } from './core-events.ts'
import { EntityCutOffs } from './entity-cut-offs.ts'
import { countedToken, readToken, storedToken, type Token, wrappingPolicy } from './token.ts'
import {
  childKey,
  childPrefix,
  expireKey,
  maxIdLength,
  namespaceTokenKeys,
  TokenKeys,
  tokenKey,
  tokenPrefix,
} from './token-keys.ts'

export type TokenStoreParts = {
  /** The core's view. It stores both tokens and identity, so that a login is one write. */
  readonly view: View
  readonly clock: Clock
  readonly random: Random
  /** Seals batch tokens. */
  readonly sealer: Sealer
  /** The copies of all stores, if other servers write the storage too. */
  readonly copies?: Copies | undefined
  mountOf(accessor: string): Mount | undefined
  readonly caches?: CacheUses
  readonly onCreated?: CoreEvents['tokenCreated']
}

/** The fields that the caller of `mint` chooses; `mint` generates the others. */
export type TokenDraft = Omit<
  Token,
  | 'accessor'
  | 'chosen_id'
  | 'cubbyhole_id'
  | 'creation_time'
  | 'issue_time'
  | 'expire_time'
  | 'granted_uses'
  | 'swept_at'
  | 'last_renewal'
  | 'cut_off'
  | 'mount_moves'
  | 'granted_ttl'
>

/** An orphan of this mount that has no entity, never expires and can be used anywhere, any number of times. */
export const orphanDraft = ({ namespace, accessor }: Mount) =>
  ({
    parent: '',
    namespace,
    meta: null,
    display_name: '',
    num_uses: 0,
    ttl: 0,
    explicit_max_ttl: 0,
    period: 0,
    entity_id: '',
    bound_cidrs: [],
    type: 'service',
    renewable: false,
    mount_accessor: accessor,
    internal: {},
  }) satisfies Partial<TokenDraft>

/** A new token that is not stored yet: write `entries` (empty for a batch token), then call `remember`. */
export type Minted = {
  readonly id: string
  readonly token: Token
  readonly entries: readonly ViewEntry[]
  /** Number of reports about tokens until now. */
  readonly reports: number
  /** Runs the write of the entries, which says whether they were stored. Throws `throttled` for too many tokens. */
  within(write: () => Promise<boolean>): Promise<boolean>
}

/**
 * `isUncopied`: the token is invalid already, for a reason that lasts, so an old copy of it does no harm.
 * `more` is written too.
 */
type ChangeOptions = WriteOptions & { readonly more?: readonly ViewEntry[] }

/** `after`: the hash of a token. */
type Walk = { readonly after?: string; onUnreadable?(hash: string): void }

/** A stored token and its revision. */
export type StoredToken = { readonly hash: string; readonly token: Token; readonly revision: number }

/** For records that no server copies. */
const uncopied = { isUncopied: true } as const
const idPrefix = 'hvs.'
const randomLength = 24

/** A sweep keeps a spent token for this long, because its last request may still need it. */
const spentGraceMs = 300_000

/** The maximum number of generations of tokens, because each use of a token checks all its ancestors. */
export const maxGenerations = 1000

/**
 * Stores service tokens and checks whether tokens of any type are valid.
 * docs/contract/tokens-and-policies.md#tokens
 */
export class TokenStore {
  readonly keys: TokenKeys
  readonly cutOffs: EntityCutOffs
  readonly #parts: TokenStoreParts
  readonly #batch: BatchTokens
  /** By hash. Tokens with limited uses are not cached: their record changes with every request. */
  readonly #cache = new Cache<Token>({ name: 'tokens', most: 10_000, mostWeight: 16 * 1024 * 1024 })
  #reports = 0
  #limit: LeaseLimit = noLeaseLimit
  /** By hash. Spending a use waits for pending changes, so that frequent use cannot starve them. */
  readonly #changes: Changes

  private constructor(parts: TokenStoreParts, keys: TokenKeys, cutOffs: EntityCutOffs) {
    this.#parts = parts
    this.keys = keys
    this.cutOffs = cutOffs
    this.#batch = new BatchTokens(parts.sealer, parts.random, parts.caches?.of('batch_tokens'))
    this.#changes = new Changes({ view: parts.view, tooMany: 'too many changes to one token at a time' })
    if (parts.caches !== undefined) this.#cache.countIn(parts.caches.of('tokens'))
    parts.view.watch(tokenPrefix, (written) => {
      this.#reports += 1
      this.#cache.follow(written, (key) => key.slice(tokenPrefix.length))
    })
  }

  static async open(parts: TokenStoreParts): Promise<TokenStore> {
    return new TokenStore(
      parts,
      await TokenKeys.open(parts.view, parts.random),
      await EntityCutOffs.open(parts.view),
    )
  }

  /** From now on, `limit` decides whether there may be another token. */
  limitBy(limit: LeaseLimit): void {
    this.#limit = limit
  }

  /**
   * The valid token with this id. Undefined if it is unknown, expired, spent, revoked, cut off with its
   * entity, or if its mount is disabled or has been moved, or if an ancestor is invalid.
   */
  lookup(id: string): Promise<Token | undefined> {
    if (isBatchId(id)) return this.#lookupBatch(id)
    return id.length > maxIdLength
      ? Promise.resolve(undefined)
      : this.lookupByAccessor(this.keys.accessorOf(id))
  }

  async #lookupBatch(id: string): Promise<Token | undefined> {
    const token = await this.#batch.open(id)
    return token !== undefined && (await this.isValid(token)) ? token : undefined
  }

  async lookupByAccessor(accessor: string): Promise<Token | undefined> {
    const token = this.#copyOf(accessor) ?? (await this.find(accessor))
    if (token === undefined || !this.isUsable(token)) return undefined
    return token.parent === '' || (await this.#generation(token)) > 0 ? token : undefined
  }

  /** Whether a token that was just read is valid, ancestors included. */
  async isValid(token: Token): Promise<boolean> {
    return this.isUsable(token) && (token.parent === '' || (await this.#generation(token)) > 0)
  }

  /**
   * Like `isValid`, for a decision that cannot be undone, made outside of a request: what other servers have
   * written, such as a new mount, counts too. Rejects with `unavailable`.
   */
  async isInvalid(token: Token): Promise<boolean> {
    if (await this.isValid(token)) return false
    if (this.#parts.copies === undefined) return true
    await this.confirmCopies()
    return !(await this.isValid(token))
  }

  /** Resolves when this server knows of all that any server has done until now. Rejects with `unavailable`. */
  async confirmCopies(): Promise<void> {
    await this.#parts.copies?.confirm()
  }

  /**
   * Whether the token of a request is valid after all that any server has done until now, such as a
   * revocation while the request ran. Rejects with `unavailable`.
   */
  async isStillValid(token: Token): Promise<boolean> {
    await this.confirmCopies()
    if (token.type === 'batch') return this.isValid(token)
    // a later token with the same chosen id has another cubbyhole
    return (await this.lookupByAccessor(token.accessor))?.cubbyhole_id === token.cubbyhole_id
  }

  /** The generation of a valid token: 1 for an orphan, 2 for its child. 0 if the token is invalid. */
  async generationOf(token: Token): Promise<number> {
    return this.isUsable(token) ? this.#generation(token) : 0
  }

  /** The stored token, valid or not. */
  async find(accessor: string): Promise<Token | undefined> {
    if (accessor.length > maxIdLength) return undefined
    const hash = this.keys.hashOf(accessor)
    return this.#cache.read(hash, () => this.#load(hash), isCacheable)
  }

  #copyOf(accessor: string): Token | undefined {
    return this.#cache.get(this.keys.hashOf(accessor))
  }

  async #load(hash: string): Promise<Token | undefined> {
    const value = await this.#parts.view.get(tokenKey(hash))
    return value === undefined ? undefined : readToken(value)
  }

  /** A batch token is still valid at its expiry time. docs/contract/tokens-and-policies.md#batch-tokens */
  isExpired(token: Token): boolean {
    if (token.expire_time === null) return false
    return token.type === 'batch'
      ? this.#isBatchExpired(token, token.expire_time)
      : token.expire_time <= this.#parts.clock.now()
  }

  /**
   * A batch token has no record to delete. If the clock is set back, the recorded clock steps tell which
   * tokens had already expired before.
   */
  #isBatchExpired({ clock_steps = 0 }: Token, expireTime: number): boolean {
    const { stepsBack = [] } = this.#parts.clock
    return (
      expireTime < this.#parts.clock.now() ||
      stepsBack.slice(clock_steps).some(({ before }) => expireTime < before)
    )
  }

  /**
   * Whether the token is valid apart from its ancestors: uses left, not expired, entity not cut off, and its
   * mount neither disabled nor moved since.
   */
  isUsable(token: Token): boolean {
    if (token.num_uses < 0 || this.isExpired(token)) return false
    if (token.entity_id !== '' && (token.cut_off ?? 0) < this.cutOffs.of(token.entity_id)) return false
    return this.isLiveMount(token.mount_accessor, token.mount_moves ?? 0)
  }

  /** Whether a mount, which had moved this often when it issued a token, is neither disabled nor has moved since. */
  isLiveMount(accessor: string, moves: number): boolean {
    const mount = this.#parts.mountOf(accessor)
    return mount !== undefined && !mount.tainted && moves === mount.moves
  }

  async #generation(token: Token): Promise<number> {
    let generation = 1
    for (let child = token; child.parent !== ''; generation += 1) {
      const ancestor = this.#copyOf(child.parent) ?? (await this.find(child.parent))
      if (
        ancestor === undefined ||
        generation > maxGenerations ||
        !isParent(ancestor, child) ||
        !this.isUsable(ancestor)
      )
        return 0
      child = ancestor
    }
    return generation
  }

  /**
   * Durably deducts one use of a token with limited uses and returns the updated token (`num_uses` −1 after
   * the last use). Undefined if no use is left. Returns an unlimited token unchanged.
   * docs/contract/tokens-and-policies.md#creating-a-token
   */
  async spendUse(token: Token): Promise<Token | undefined> {
    if (token.num_uses === 0) return token
    const hash = this.keys.hashOf(token.accessor)
    await this.#changes.pending(hash)
    let spent: Token | undefined
    let isLast = token.num_uses === 1
    if (!isLast) {
      const spend = (current: unknown) => {
        spent = undefined
        if (current === undefined) return keep
        const stored = readToken(current)
        isLast = stored.num_uses === 1
        if (stored.num_uses <= 1 || this.isExpired(stored)) return keep
        spent = { ...stored, num_uses: stored.num_uses - 1 }
        return storedToken(spent)
      }
      await this.#parts.view.update(tokenKey(hash), spend, uncopied)
    }
    return isLast ? this.#spendLastUse(hash) : spent
  }

  #spendLastUse(hash: string): Promise<Token | undefined> {
    return this.#changes.runUnordered(async (write) => {
      const stored = await this.tokenByHash(hash)
      if (stored === undefined || stored.token.num_uses !== 1 || this.isExpired(stored.token))
        return undefined
      const { token, entries } = this.lastUse(stored)
      await write(entries)
      return token
    })
  }

  /**
   * The token after its last use, and the entries that store it. A sweep deletes the token if the server
   * stops before the request that spent it revokes it.
   */
  lastUse({ hash, token, revision }: StoredToken): { token: Token; entries: ViewEntry[] } {
    const sweepAt = this.#parts.clock.now() + spentGraceMs
    const isSweptAnyway = token.expire_time !== null && token.expire_time <= sweepAt
    const spent: Token = { ...token, num_uses: -1, ...(isSweptAnyway ? {} : { swept_at: sweepAt }) }
    const entries: ViewEntry[] = [
      { key: tokenKey(hash), value: storedToken(spent), expect: revision, ...uncopied },
    ]
    if (!isSweptAnyway) entries.push({ key: expireKey(sweepAt, hash), value: true, ...uncopied })
    return { token: spent, entries }
  }

  /**
   * Makes a service token and its entries. With an `id` chosen by the caller, the write fails if the id is
   * taken.
   */
  mint(draft: TokenDraft, id?: string): Minted {
    const now = this.#parts.clock.now()
    const own = id ?? `${idPrefix}${base62(this.#parts.random, randomLength)}${suffixOf(draft.namespace)}`
    const token: Token = {
      accessor: this.keys.accessorOf(own),
      ...draft,
      ...this.#cutOffOf(draft),
      ...this.#mountMovesOf(draft),
      ...(id === undefined ? {} : { chosen_id: true }),
      cubbyhole_id: base62(this.#parts.random, randomLength),
      granted_uses: draft.num_uses,
      granted_ttl: draft.ttl,
      creation_time: now,
      issue_time: now,
      expire_time: draft.ttl > 0 ? now + draft.ttl * 1000 : null,
    }
    const hash = this.keys.hashOf(token.accessor)
    const entries: ViewEntry[] = [
      // a server may still have a copy of a former token with the same chosen id, whose deletion is not reported
      {
        key: tokenKey(hash),
        value: storedToken(token),
        ...(id === undefined ? uncopied : { expect: 'absent' }),
      },
    ]
    if (token.expire_time !== null)
      entries.push({ key: expireKey(token.expire_time, hash), value: true, ...uncopied })
    if (token.parent !== '')
      entries.push({ key: childKey(this.keys.hashOf(token.parent), hash), value: true, ...uncopied })
    for (const key of namespaceTokenKeys(token.namespace, hash))
      entries.push({ key, value: true, ...uncopied })
    const counted = countedToken(token, hash)
    return {
      id: own,
      token,
      entries,
      reports: this.#reports,
      within: (write) => (counted === undefined ? write() : this.#limit.within(counted, write)),
    }
  }

  /**
   * Makes a batch token, which is not stored. Ignores fields of the draft that batch tokens do not have.
   * docs/contract/tokens-and-policies.md#batch-tokens
   */
  async mintBatch(draft: TokenDraft): Promise<Minted> {
    const record = this.#batchRecordOf(draft)
    return this.#unstored(record, await this.#batch.seal(record))
  }

  /** Makes a batch token that nobody gets: it serves the request that carries its login. */
  mintCarried(draft: TokenDraft): Minted {
    return this.#unstored(this.#batchRecordOf(draft), '')
  }

  #unstored(record: ReturnType<typeof batchRecord>, id: string): Minted {
    const within: Minted['within'] = (write) => write()
    return { id, token: batchToken(record), entries: [], reports: this.#reports, within }
  }

  #batchRecordOf(draft: TokenDraft): ReturnType<typeof batchRecord> {
    return batchRecord({
      ...draft,
      ...this.#cutOffOf(draft),
      ...this.#mountMovesOf(draft),
      ...this.#clockStepsNow(),
      creation_time: this.#parts.clock.now(),
    })
  }

  #mountMovesOf({ mount_accessor }: TokenDraft): Pick<Token, 'mount_moves'> {
    const { moves = 0 } = this.#parts.mountOf(mount_accessor) ?? {}
    return moves === 0 ? {} : { mount_moves: moves }
  }

  #clockStepsNow(): Pick<Token, 'clock_steps'> {
    const { stepsBack = [] } = this.#parts.clock
    return stepsBack.length === 0 ? {} : { clock_steps: stepsBack.length }
  }

  #cutOffOf({ entity_id }: TokenDraft): Pick<Token, 'cut_off'> {
    const cut_off = entity_id === '' ? 0 : this.cutOffs.ofNewToken(entity_id)
    return cut_off === 0 ? {} : { cut_off }
  }

  /**
   * Counts a minted token and caches it; call it once its entries are written. It is not cached if another
   * server may have changed or revoked it by now.
   */
  remember({ token, reports }: Minted): void {
    this.#parts.onCreated?.(token.type, this.#sourceOf(token))
    if (token.type === 'service' && isCacheable(token) && reports === this.#reports)
      this.#cache.set(this.keys.hashOf(token.accessor), token)
  }

  #sourceOf({ mount_accessor, path, policies }: Token): TokenSource {
    if (policies[0] === wrappingPolicy) return 'wrapping'
    if (this.#parts.mountOf(mount_accessor)?.type !== 'token') return 'login'
    return path === `${fixedPaths.token}root` ? 'root' : 'token'
  }

  /** Drops a changed or deleted token from the cache. */
  forget(hash: string): void {
    this.#cache.drop(hash)
  }

  /** Drops all cached tokens: when the clock is set back, a copy of a deleted token must not be valid again. */
  forgetAll(): void {
    this.#cache.dropAll()
  }

  /** The service token stored under this hash, valid or not. */
  async tokenByHash(hash: string): Promise<StoredToken | undefined> {
    const record = await this.#parts.view.read(tokenKey(hash))
    return record === undefined
      ? undefined
      : { hash, token: readToken(record.value), revision: record.revision }
  }

  /**
   * Service tokens, valid or not, in pages ordered by hash, from after `after`. Skips unreadable records (the log
   * names them) and reports each to `onUnreadable`.
   */
  async *pages({ after = '', onUnreadable }: Walk = {}): AsyncGenerator<readonly StoredToken[]> {
    for await (const page of this.#parts.view.keyPages(tokenPrefix, tokenKey(after)))
      yield this.readEach(
        page.map((key) => key.slice(tokenPrefix.length)),
        onUnreadable,
      )
  }

  /** The service tokens stored under these hashes. Skips unreadable records, like `pages`. */
  async readEach(hashes: readonly string[], onUnreadable?: Walk['onUnreadable']): Promise<StoredToken[]> {
    const read = hashes.map((hash) =>
      this.tokenByHash(hash).catch((error: unknown) => {
        if (!isUnreadable(error)) throw error
        onUnreadable?.(hash)
      }),
    )
    return (await Promise.all(read)).filter((stored) => stored !== undefined)
  }

  /** Hashes of direct children, at most `limit`. */
  async childrenOf(hash: string, limit: number): Promise<string[]> {
    const prefix = childPrefix(hash)
    const keys = await this.#parts.view.listKeys(prefix, { limit })
    return keys.map((key) => key.slice(prefix.length))
  }

  /**
   * Changes a stored token and its expiry row in one write and returns the stored token; undefined if there
   * is no such token. `change` may be called again; it returns undefined to leave the token unchanged.
   */
  change(
    hash: string,
    change: (token: Token, revision: number) => Token | undefined,
    options: ChangeOptions = {},
  ): Promise<Token | undefined> {
    return this.#changes.run(hash, (write) => this.#change(hash, change, options, write))
  }

  async #change(
    hash: string,
    change: (token: Token, revision: number) => Token | undefined,
    { more = [], isUncopied }: ChangeOptions,
    write: Write,
  ): Promise<Token | undefined> {
    const before = await this.tokenByHash(hash)
    if (before === undefined) return undefined
    const after = change(before.token, before.revision)
    if (after === undefined) return before.token
    const entries: ViewEntry[] = [
      {
        key: tokenKey(hash),
        value: storedToken(after),
        expect: before.revision,
        ...(isUncopied || !isCacheable(after) ? uncopied : {}),
      },
      ...more,
    ]
    if (after.expire_time !== before.token.expire_time) {
      if (before.token.expire_time !== null)
        entries.push({ key: expireKey(before.token.expire_time, hash), value: undefined, ...uncopied })
      if (after.expire_time !== null)
        entries.push({ key: expireKey(after.expire_time, hash), value: true, ...uncopied })
    }
    try {
      await write(entries)
      return after
    } finally {
      // also after an error: the write may have been committed
      this.forget(hash)
    }
  }
}

/**
 * Whether the token at the parent's accessor is the child's parent and not a later one with the same chosen
 * id.
 */
export const isParent = ({ chosen_id, cubbyhole_id }: Token, child: Token): boolean =>
  chosen_id !== true || child.parent_cubbyhole === cubbyhole_id

const isCacheable = (token: Token): boolean => token.num_uses === 0
