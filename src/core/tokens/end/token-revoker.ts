import type { Clock } from '../../../lib/system/clock.ts'
import type { WriteOptions } from '../../../storage/storage.ts'
import type { View, ViewEntry } from '../../barrier/view.ts'
import { Periodic, type Timing } from '../../jobs/background.ts'
import { Changes } from '../../records/change.ts'
import type { CoreEvents, TokenEnd } from '../store/core-events.ts'
import type { Token } from '../store/token.ts'
import {
  childKey,
  expireKey,
  expirePrefix,
  namespaceTokenKeys,
  namespaceTokenPrefix,
  readExpireKey,
  tokenKey,
} from '../store/token-keys.ts'
import { isParent, type StoredToken, type TokenStore } from '../store/token-store.ts'

export type TokenRevokerParts = {
  readonly tokens: TokenStore
  /** The view that stores the tokens. */
  readonly view: View
  readonly clock: Clock
  readonly onDeleted?: CoreEvents['tokenDeleted']
}

/**
 * Removes what belongs to a token, before its record is deleted. Called again if it failed or the server
 * stopped in between.
 */
type CleanUp = (token: Token) => Promise<void>

/** A token in the traversal of a tree, and the parent from which the traversal reached it. */
type TreeNode = { readonly hash: string; readonly parent?: string }

/** A token that is no longer valid. `stored` is undefined if only index rows are to be deleted. */
type Ended = { readonly hash: string; readonly stored: StoredToken | undefined }

/**
 * Expiry time of a token being revoked: always past, so it is invalid at once, and a sweep resumes unfinished
 * work.
 */
const revokedAt = 1
const pageSize = 200

/**
 * Deletes tokens: on revocation, with all their descendants, and after expiry.
 * docs/contract/tokens-and-policies.md#validity, docs/contract/tokens-and-policies.md#tokens
 */
export class TokenRevoker {
  readonly #tokens: TokenStore
  readonly #view: View
  readonly #changes: Changes
  readonly #clock: Clock
  readonly #listeners: CleanUp[] = []
  readonly #onDeleted: TokenRevokerParts['onDeleted']

  constructor(parts: TokenRevokerParts) {
    this.#tokens = parts.tokens
    // deletes only what is invalid already: a copy of it does no harm
    this.#view = parts.view.view('', { isUncopied: true })
    this.#changes = new Changes({ view: this.#view, tooMany: 'too many changes to the tokens to revoke' })
    this.#clock = parts.clock
    this.#onDeleted = parts.onDeleted
  }

  /** `listener` removes what belongs to a revoked token; listeners run in the order of registration. */
  onRevoked(listener: CleanUp): void {
    this.#listeners.push(listener)
  }

  /**
   * Revokes a token and its descendants. The first write invalidates all of them, because a token is valid
   * only while its ancestors are; then the records are deleted, deepest first. False if there is no such
   * token.
   */
  revoke(accessor: string): Promise<boolean> {
    return this.#revoke(this.#tokens.keys.hashOf(accessor))
  }

  async #revoke(hash: string, options: WriteOptions = {}): Promise<boolean> {
    if ((await this.#tokens.change(hash, ended, options)) === undefined) return false
    await this.#destroyTree(hash)
    return true
  }

  /**
   * Revokes a token that was read as invalid. No-op if the record has changed since: it may be valid by now.
   */
  async revokeAsRead({ hash, revision }: StoredToken): Promise<boolean> {
    let isAsRead = false
    const end = (token: Token, current: number) => {
      isAsRead = current === revision
      return isAsRead ? ended(token) : undefined
    }
    await this.#tokens.change(hash, end, { isUncopied: true })
    if (isAsRead) await this.#destroyTree(hash)
    return isAsRead
  }

  /**
   * Revokes all tokens of a removed namespace and their descendants in any namespace. May be run again after a
   * failure. `hasRows`: each of its tokens has a row, so it need not look at all tokens of the server.
   */
  async removeNamespace(namespace: string, { hasRows }: { readonly hasRows: boolean }): Promise<void> {
    const prefix = namespaceTokenPrefix(namespace)
    for await (const page of this.#view.keyPages(prefix)) {
      await this.#revokeAll(page.map((key) => key.slice(prefix.length)))
      await this.#view.write(page.map((key) => ({ key, value: undefined })))
    }
    if (hasRows) return
    // of an earlier version, whose tokens have no rows; they are invalid already
    for await (const page of this.#tokens.pages())
      for (const { token, hash } of page)
        if (token.namespace === namespace) await this.#revoke(hash, { isUncopied: true })
  }

  /** Revokes tokens of a removed namespace, together where they have no children. Skips unreadable ones. */
  async #revokeAll(hashes: readonly string[]): Promise<void> {
    const leaves: string[] = []
    for (const { hash, token } of await this.#tokens.readEach(hashes)) {
      // it is invalid already, because its namespace is being removed, on a server that knows of that
      if (this.#tokens.isUsable(token)) await this.#tokens.change(hash, ended, { isUncopied: true })
      if ((await this.#tokens.childrenOf(hash, 1)).length === 0) leaves.push(hash)
      else await this.#destroyTree(hash)
    }
    await this.#destroyOrThrow(leaves)
  }

  /** Revokes one token; its children become orphans. False if there is no such token. */
  async revokeOrphan(accessor: string): Promise<boolean> {
    const hash = this.#tokens.keys.hashOf(accessor)
    const stored = await this.#tokens.tokenByHash(hash)
    if (stored === undefined) return false
    for (;;) {
      const children = await this.#tokens.childrenOf(hash, pageSize)
      if (children.length === 0) break
      for (const child of children) await this.#orphan(stored, child)
    }
    return this.revoke(accessor)
  }

  async #orphan({ hash, token: parent }: StoredToken, child: string): Promise<void> {
    const row = { key: childKey(hash, child), value: undefined }
    const freed = (token: Token) =>
      token.parent === parent.accessor && isParent(parent, token) ? { ...token, parent: '' } : undefined
    const after = await this.#tokens.change(child, freed, { more: [row] })
    // the child was deleted or has another parent, so `change` did not delete the row
    if (after === undefined || after.parent !== '') await this.#view.write([row])
  }

  /** Deletes expired tokens. Reports each failure and goes on. Returns early if `stopping` is aborted. */
  async sweep(onError: (error: unknown) => void = () => {}, stopping?: AbortSignal): Promise<void> {
    const now = this.#clock.now()
    for await (const page of this.#view.keyPages(expirePrefix)) {
      const due = page.filter((key) => readExpireKey(key).time <= now)
      for (const failure of await this.#sweepPage(due, now)) onError(failure)
      if (due.length < page.length || stopping?.aborted === true) return
    }
  }

  async #sweepPage(due: readonly string[], now: number): Promise<unknown[]> {
    const failures: unknown[] = []
    const leaves: string[] = []
    for (const key of due) {
      try {
        const hash = await this.#dueToken(key, now)
        if (hash === undefined) continue
        if ((await this.#tokens.childrenOf(hash, 1)).length === 0) leaves.push(hash)
        else await this.#destroyTree(hash)
      } catch (error) {
        failures.push(error)
      }
    }
    return [...failures, ...(await this.#destroy(leaves))]
  }

  /** The hash of the token that an expiry row refers to, if it is due. Deletes an outdated row. */
  async #dueToken(key: string, now: number): Promise<string | undefined> {
    const { hash, time } = readExpireKey(key)
    const stored = await this.#tokens.tokenByHash(hash)
    const ends = stored === undefined ? [] : endsOf(stored.token)
    if (ends.some((end) => end <= now)) return hash
    if (!ends.includes(time)) await this.#view.write([{ key, value: undefined }])
    return undefined
  }

  /** Deletes an invalid token and all its descendants, deepest first, a page of leaves at a time. */
  async #destroyTree(top: string): Promise<void> {
    const path: TreeNode[] = [{ hash: top }]
    for (let at = path.at(-1); at !== undefined; at = path.at(-1)) {
      if (await this.#isTaken(at)) {
        path.pop()
        continue
      }
      const leaves: string[] = []
      const branches: TreeNode[] = []
      for (const child of await this.#tokens.childrenOf(at.hash, pageSize)) {
        const below = await this.#tokens.childrenOf(child, 1)
        if (below.length > 0) branches.push({ hash: child, parent: at.hash })
        else leaves.push(child)
      }
      await this.#destroyOrThrow(leaves, at)
      if (branches.length > 0) path.push(...branches)
      else if (leaves.length === 0) path.pop()
    }
    await this.#destroyOrThrow([top])
  }

  /**
   * Whether a valid token with the same (chosen) id has replaced the one to delete. Then it and its
   * descendants are kept.
   */
  async #isTaken({ hash, parent }: TreeNode): Promise<boolean> {
    const stored = await this.#tokens.tokenByHash(hash)
    if (stored === undefined || this.#isEnded(stored.token, parent)) return false
    if (parent !== undefined) await this.#view.write([{ key: childKey(parent, hash), value: undefined }])
    return true
  }

  /** Whether a token is invalid by itself or as a child of `parent`. */
  #isEnded(token: Token, parent: string | undefined): boolean {
    return (
      !this.#tokens.isUsable(token) ||
      (parent !== undefined && token.parent !== '' && this.#tokens.keys.hashOf(token.parent) === parent)
    )
  }

  async #destroyOrThrow(hashes: readonly string[], parent?: TreeNode): Promise<void> {
    const [failure] = await this.#destroy(hashes, parent)
    if (failure !== undefined) throw failure
  }

  /**
   * Deletes tokens without children in one write. Skips valid tokens and those whose clean-up failed; returns
   * the errors of failed clean-ups.
   */
  async #destroy(hashes: readonly string[], parent?: TreeNode): Promise<unknown[]> {
    if (hashes.length === 0) return []
    return this.#changes.runUnordered(async (write) => {
      const ended = await this.#endedOf(hashes, parent)
      // concurrently: each may wait for a commit
      const cleanUps = await Promise.allSettled(
        ended.map(async ({ stored }) => stored && this.#cleanUp(stored.token)),
      )
      const failures = cleanUps.flatMap((cleanUp) => (cleanUp.status === 'rejected' ? [cleanUp.reason] : []))
      const deleted = ended.filter((_, at) => cleanUps[at]?.status === 'fulfilled')
      try {
        await write(deleted.flatMap(({ hash, stored }) => this.#deletion(hash, stored, parent?.hash)))
        this.#report(deleted)
        return failures
      } finally {
        for (const { stored } of ended) if (stored !== undefined) this.#tokens.forget(stored.hash)
      }
    })
  }

  #report(deleted: readonly Ended[]): void {
    const now = this.#clock.now()
    for (const { stored } of deleted) if (stored !== undefined) this.#onDeleted?.(endOf(stored.token, now))
  }

  async #cleanUp(token: Token): Promise<void> {
    for (const listener of this.#listeners) await listener(token)
  }

  /**
   * The invalid ones of these tokens; of a valid or missing one only the row that led to it is to be deleted.
   */
  async #endedOf(hashes: readonly string[], parent: TreeNode | undefined): Promise<Ended[]> {
    const found = await Promise.all(
      hashes.map(async (hash) => ({ hash, stored: await this.#tokens.tokenByHash(hash) })),
    )
    // check last: if the parent is still the old one here, it was so during the reads above
    if (parent !== undefined && (await this.#isTaken(parent))) return []
    return found.map(({ hash, stored }) =>
      stored !== undefined && this.#isEnded(stored.token, parent?.hash)
        ? { hash, stored }
        : { hash, stored: undefined },
    )
  }

  #deletion(hash: string, stored: StoredToken | undefined, parent: string | undefined): ViewEntry[] {
    const parents = new Set(parent === undefined ? [] : [parent])
    if (stored === undefined)
      return [...parents].map((one) => ({ key: childKey(one, hash), value: undefined }))
    const { token, revision } = stored
    if (token.parent !== '') parents.add(this.#tokens.keys.hashOf(token.parent))
    return [
      { key: tokenKey(hash), value: undefined, expect: revision },
      ...endsOf(token).map((end) => ({ key: expireKey(end, hash), value: undefined })),
      ...[...parents].map((one) => ({ key: childKey(one, hash), value: undefined })),
      ...namespaceTokenKeys(token.namespace, hash).map((key) => ({ key, value: undefined })),
    ]
  }
}

/** Deletes expired tokens in the background. */
export const tokenSweeper = ({ revoker, ...timing }: Timing & { readonly revoker: TokenRevoker }): Periodic =>
  new Periodic({ ...timing, run: (stopping) => revoker.sweep(timing.onError, stopping) })

function endOf({ num_uses, expire_time }: Token, now: number): TokenEnd {
  if (num_uses < 0) return 'spent'
  if (expire_time === revokedAt) return 'revoked'
  return expire_time !== null && expire_time <= now ? 'expired' : 'lost'
}

/** The times of a token's rows under `expire/`. */
const endsOf = ({ expire_time, swept_at }: Token): number[] => [expire_time ?? [], swept_at ?? []].flat()

const ended = (token: Token): Token | undefined =>
  token.expire_time === revokedAt ? undefined : { ...token, expire_time: revokedAt }
