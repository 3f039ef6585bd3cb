import { setImmediate as nextTurn } from 'node:timers/promises'
import { fail } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import type { View, ViewEntry } from '../barrier/view.ts'
import { writeAttempts } from '../stored-record.ts'
import type { Token } from './token.ts'
import { childKey, expireKey, expirePrefix, readExpireKey, tokenKey } from './token-keys.ts'
import { isParent, type StoredToken, type TokenStore } from './token-store.ts'

export type TokenRevokerParts = {
  readonly tokens: TokenStore
  /** The view the tokens lie in. */
  readonly view: View
  readonly clock: Clock
  /** Takes away what hangs on a token (cubbyhole, leases) before its record goes. Runs again when it failed or the server stopped in between. */
  onRevoked(token: Token): Promise<void>
}

/** Where a walk came across a token: below which other one. */
type Place = { readonly hash: string; readonly parent?: string }

/** A token that is no longer valid; undefined where only rows that lead to one are left. */
type Ended = { readonly hash: string; readonly stored: StoredToken | undefined }

/** Expiry time of a token being revoked: in the past whatever the clock says, so it is refused at once and a sweep resumes what was left half done. */
const revokedAt = 1
const pageSize = 200
/** A page of a sweep is worked off in one go: few enough that requests do not wait for it. */
const sweepPageSize = 64

/** Ends tokens: on demand with all their descendants, and when they expire. docs/contract/tokens-and-policies.md#validity, docs/contract/tokens-and-policies.md#tokens */
export class TokenRevoker {
  readonly #tokens: TokenStore
  readonly #view: View
  readonly #clock: Clock
  readonly #onRevoked: TokenRevokerParts['onRevoked']

  constructor(parts: TokenRevokerParts) {
    this.#tokens = parts.tokens
    this.#view = parts.view
    this.#clock = parts.clock
    this.#onRevoked = parts.onRevoked
  }

  /**
   * Revokes a token and its descendants. It and they are refused from the first write on (a token is only as valid as its ancestors); then the
   * records go, deepest first. False when there is no such token.
   */
  async revoke(accessor: string): Promise<boolean> {
    const hash = this.#tokens.keys.hashOf(accessor)
    if ((await this.#tokens.change(hash, ended)) === undefined) return false
    await this.#destroyTree(hash)
    return true
  }

  /** Revokes a token that was found to be no longer valid, unless it has changed since it was read: it may be valid again, or another one. */
  async revokeAsRead({ hash, revision }: StoredToken): Promise<boolean> {
    let isAsRead = false
    await this.#tokens.change(hash, (token, current) => {
      isAsRead = current === revision
      return isAsRead ? ended(token) : undefined
    })
    if (isAsRead) await this.#destroyTree(hash)
    return isAsRead
  }

  /** Revokes all tokens of a namespace, those made elsewhere with them too. Runs again where it stopped. */
  async removeNamespace(namespace: string): Promise<void> {
    for (let after: string | undefined; ; ) {
      const page = await this.#tokens.scan({ limit: pageSize, ...(after === undefined ? {} : { after }) })
      for (const { token } of page) if (token.namespace === namespace) await this.revoke(token.accessor)
      after = page.at(-1)?.hash
      if (after === undefined) return
      await nextTurn()
    }
  }

  /** Revokes one token alone: its children become orphans, the grandchildren keep their parents. False when there is no such token. */
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
    const freed = (token: Token) => (token.parent === parent.accessor && isParent(parent, token) ? { ...token, parent: '' } : undefined)
    const after = await this.#tokens.change(child, freed, [row])
    // gone, or not its child any more
    if (after === undefined || after.parent !== '') await this.#view.write([row])
  }

  /** Ends at most `sweepPageSize` tokens whose time has come; `after` is where the last page ended. Undefined: no more are due. */
  async sweepPage(after?: string): Promise<{ last: string; failures: unknown[] } | undefined> {
    const now = this.#clock.now()
    const page = await this.#view.listKeys(expirePrefix, { limit: sweepPageSize, ...(after === undefined ? {} : { after }) })
    const due = page.filter((key) => readExpireKey(key).time <= now)
    const last = due.at(-1)
    if (last === undefined) return undefined
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
    failures.push(...(await this.#destroy(leaves)))
    return { last, failures }
  }

  /** The token an expiry row stands for; a row that is no longer true is deleted. */
  async #dueToken(key: string, now: number): Promise<string | undefined> {
    const { hash, time } = readExpireKey(key)
    const stored = await this.#tokens.tokenByHash(hash)
    const ends = stored === undefined ? [] : endsOf(stored.token)
    if (ends.some((end) => end <= now)) return hash
    if (!ends.includes(time)) await this.#view.write([{ key, value: undefined }])
    return undefined
  }

  /** Deletes a token that is no longer valid and all below it, deepest first, a page of leaves at a time. */
  async #destroyTree(top: string): Promise<void> {
    const path: Place[] = [{ hash: top }]
    for (let at = path.at(-1); at !== undefined; at = path.at(-1)) {
      if (await this.#isTaken(at)) {
        path.pop()
        continue
      }
      const leaves: string[] = []
      const branches: Place[] = []
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

  /** Has another token taken the place of one that is gone (its id was chosen)? That one is left alone, with all below it. */
  async #isTaken({ hash, parent }: Place): Promise<boolean> {
    const stored = await this.#tokens.tokenByHash(hash)
    if (stored === undefined || this.#isEnded(stored.token, parent)) return false
    if (parent !== undefined) await this.#view.write([{ key: childKey(parent, hash), value: undefined }])
    return true
  }

  /** Is a token no longer valid: for itself, or as the child of one that is not? */
  #isEnded(token: Token, parent: string | undefined): boolean {
    return !this.#tokens.isUsable(token) || (parent !== undefined && token.parent !== '' && this.#tokens.keys.hashOf(token.parent) === parent)
  }

  async #destroyOrThrow(hashes: readonly string[], parent?: Place): Promise<void> {
    const [failure] = await this.#destroy(hashes, parent)
    if (failure !== undefined) throw failure
  }

  /** Deletes tokens without children in one write, but for those that are valid and those whose clean-up failed: gives back why. */
  async #destroy(hashes: readonly string[], parent?: Place): Promise<unknown[]> {
    if (hashes.length === 0) return []
    for (let attempt = 0; attempt < writeAttempts; attempt += 1) {
      const ended = await this.#endedOf(hashes, parent)
      // beside each other, since each may wait for a commit
      const cleanUps = await Promise.allSettled(ended.map(({ stored }) => stored && this.#onRevoked(stored.token)))
      const failures = cleanUps.flatMap((cleanUp) => (cleanUp.status === 'rejected' ? [cleanUp.reason] : []))
      const entries = ended.flatMap(({ hash, stored }, at) => (cleanUps[at]?.status === 'rejected' ? [] : this.#deletion(hash, stored, parent?.hash)))
      try {
        if (entries.length === 0 || (await this.#view.write(entries))) return failures
      } finally {
        for (const { stored } of ended) if (stored !== undefined) this.#tokens.forget(stored.token.accessor)
      }
    }
    throw fail('unavailable', 'too many changes to the tokens to revoke')
  }

  /** Of a valid one only the row that led to it is of no use. */
  async #endedOf(hashes: readonly string[], parent: Place | undefined): Promise<Ended[]> {
    const found = await Promise.all(hashes.map(async (hash) => ({ hash, stored: await this.#tokens.tokenByHash(hash) })))
    // only now: what was read before is of the parent that was there until now
    if (parent !== undefined && (await this.#isTaken(parent))) return []
    return found.map(({ hash, stored }) =>
      stored !== undefined && this.#isEnded(stored.token, parent?.hash) ? { hash, stored } : { hash, stored: undefined },
    )
  }

  #deletion(hash: string, stored: StoredToken | undefined, parent: string | undefined): ViewEntry[] {
    const parents = new Set(parent === undefined ? [] : [parent])
    if (stored === undefined) return [...parents].map((one) => ({ key: childKey(one, hash), value: undefined }))
    const { token, revision } = stored
    if (token.parent !== '') parents.add(this.#tokens.keys.hashOf(token.parent))
    return [
      { key: tokenKey(hash), value: undefined, expect: revision },
      ...endsOf(token).map((end) => ({ key: expireKey(end, hash), value: undefined })),
      ...[...parents].map((one) => ({ key: childKey(one, hash), value: undefined })),
    ]
  }
}

/** The times of a token's rows among those that expire. */
const endsOf = ({ expire_time, swept_at }: Token): number[] => [expire_time ?? [], swept_at ?? []].flat()

const ended = (token: Token): Token | undefined => (token.expire_time === revokedAt ? undefined : { ...token, expire_time: revokedAt })
