import type { View, ViewEntry } from '../../../core/barrier/view.ts'
import { type KeyedHash, openKeyedHashes } from '../../../core/records/keyed-hash.ts'
import { refuse } from '../../../errors.ts'
import { countedAddress } from '../../../lib/net/address.ts'
import type { Clock } from '../../../lib/system/clock.ts'
import type { Random } from '../../../lib/system/random.ts'
import {
  digest,
  type Ending,
  isOpenForBrowser,
  type LoginStart,
  lifetimeMs,
  newPendingLogin,
  newState,
  type PendingLogin,
  type PostedForm,
  readPendingLogin,
  storedPendingLogin,
  withPosted,
} from './pending-login.ts'

export type PendingLoginParts = {
  /** The mount's own. */
  readonly view: View
  readonly clock: Clock
  readonly random: Random
  /** Whether other servers write the storage too. */
  readonly isShared: boolean
  readonly limits?: PendingLimits
  /** Called for a login that expired although a client polls for such ones. */
  onAbandoned?(login: PendingLogin): Promise<void>
}

/** Most pending logins. docs/contract/oidc.md#between */
export type PendingLimits = { readonly mount: number; readonly address: number }
const contractLimits: PendingLimits = { mount: 100_000, address: 1_000 }

/** Why a state has no login, if this process saw it end. `role` is empty if only the sweep saw it. */
export type Ended = { readonly why: 'used' | 'expired'; readonly role: string }
const maxEndsKept = 2_000
/** So many logins that expired are looked at in one walk. */
const mostLookedAt = 200

/** A new login, and the state that the provider will return. */
export type BegunLogin = { readonly state: string; readonly login: PendingLogin }

/** Numbers of pending logins by list prefix, as counted at `at`. */
type Count = {
  readonly byPrefix: Map<string, number>
  total: number
  readonly at: number
  /**
   * The addresses that make room in a full mount, the one with the most logins last. Each is reduced to half
   * of what it had, so that they need not be sorted for every new login.
   */
  victims: { readonly prefix: string; readonly floor: number }[]
}
const maxVictims = 1_000
/** A login to be removed may just have ended elsewhere; then the next one is tried, this many times. */
const victimTries = 5

const slowDownSeconds = 5

const loginRoot = 'oidc/login/'
const stateKey = (state: string): string => `${loginRoot}${digest(state)}`
const listRoot = 'oidc/from/'
/** The prefixes of all records of pending logins. */
export const pendingLoginPrefixes: readonly string[] = [loginRoot, listRoot]
/** Maximum age of a count of the whole mount; changes by this process are counted at once. */
const recountAfterMs = 10_000
/** How long an address at its limit is refused without counting again, unless one of its logins ends here. */
const fullForMs = 1_000
const maxFullKept = 1_000

/**
 * The logins between authorization URL and callback, in storage: they survive a restart, and a callback may
 * reach another server. Each has a record under the digest of its state, and a second one that lists it under
 * its client's address, by time. Both are written in one step.
 */
export class PendingLogins {
  readonly #parts: PendingLoginParts
  readonly #limits: PendingLimits
  /** Logins that this process is writing, by list prefix, in order of arrival. */
  readonly #writing = new Map<string, Set<string>>()
  /** When to count again for addresses that were at their limit, by list prefix. */
  readonly #fullUntil = new Map<string, number>()
  /** Why recent logins ended, by the digest of their state, oldest first: explains an unknown state. */
  readonly #ends = new Map<string, Ended>()
  #count: Count | undefined
  #counting: Promise<void> | undefined
  #addressHash: KeyedHash | undefined

  constructor(parts: PendingLoginParts) {
    this.#parts = parts
    this.#limits = parts.limits ?? contractLimits
  }

  /**
   * Stores a new login. Throws `throttled` if this address has too many pending ones. A full mount makes room
   * by removing the oldest login of this address, or else of the address with the most. `prepare` returns what
   * else is stored; it is called while the login counts already.
   */
  async begin(
    start: LoginStart,
    remoteAddress: string,
    prepare?: () => Promise<Pick<PendingLogin, 'device_code' | 'interval'>>,
  ): Promise<BegunLogin> {
    const { random, clock, view } = this.#parts
    const now = clock.now()
    const state = newState(random)
    const prefix = `${listRoot}${await this.#hashedAddress(remoteAddress)}/`
    const listed = listKey(prefix, now, state)
    const writing = this.#writing.get(prefix) ?? new Set<string>()
    this.#writing.set(prefix, writing.add(listed))
    try {
      await this.#checkAddress(prefix, writing, listed)
      const login: PendingLogin = {
        ...newPendingLogin(start, random, now),
        listed,
        address: remoteAddress,
        ...(await prepare?.()),
      }
      const room = await this.#roomInMount(prefix)
      await view.write([
        { key: stateKey(state), value: storedPendingLogin(login) },
        { key: listed, value: 1 },
        ...room,
      ])
      this.#counted(prefix, 1)
      if (this.#parts.isShared) await this.#checkAfterwards(prefix, listed)
      return { state, login }
    } finally {
      writing.delete(listed)
      if (writing.size === 0) this.#writing.delete(prefix)
    }
  }

  /**
   * Takes the login of a state, so that nobody else gets it. Undefined if there is none or it is too old.
   * `check` sees it first; if that throws, the login stays.
   */
  async take(
    state: string,
    check?: (login: PendingLogin) => Promise<void> | void,
  ): Promise<PendingLogin | undefined> {
    const { view } = this.#parts
    for (;;) {
      const found = await view.read(stateKey(state))
      if (found === undefined) return undefined
      const login = readPendingLogin(found.value)
      if (!this.#isOver(login.listed)) await check?.(login)
      const taken = await view.write([
        { key: stateKey(state), value: undefined, expect: found.revision },
        { key: login.listed, value: undefined },
      ])
      // someone else took it, or a form was stored meanwhile
      if (!taken) continue
      this.#counted(prefixOf(login.listed), -1)
      const isOver = this.#isOver(login.listed)
      this.#recordEnd(digest(state), { why: isOver ? 'expired' : 'used', role: login.role })
      return isOver ? undefined : login
    }
  }

  /** The login of a state, which stays. Undefined if there is none or it is too old. */
  async find(state: string): Promise<PendingLogin | undefined> {
    const found = await this.#parts.view.read(stateKey(state))
    const login = found && readPendingLogin(found.value)
    if (login === undefined || !this.#isOver(login.listed)) return login
    this.#recordEnd(digest(state), { why: 'expired', role: login.role })
    return undefined
  }

  /** Why the login of a state ended; undefined if this process does not know. */
  ended(state: string): Ended | undefined {
    return this.#ends.get(digest(state))
  }

  #recordEnd(id: string, ended: Ended): void {
    this.#ends.set(id, ended)
    const [oldest] = this.#ends.keys()
    if (this.#ends.size > maxEndsKept && oldest !== undefined) this.#ends.delete(oldest)
  }

  /**
   * Stores a form's content, replacing that of an earlier one, and keeps the login for another ten minutes.
   * Undefined if no such login waits for a browser. docs/contract/oidc.md#the-page-of-a-form
   */
  keepPosted(state: string, posted: PostedForm): Promise<PendingLogin | undefined> {
    const { clock, random } = this.#parts
    return this.#rewrite(state, (before) =>
      isOpenForBrowser(before)
        ? {
            ...withPosted(before, posted, random),
            listed: listKey(prefixOf(before.listed), clock.now(), state),
          }
        : undefined,
    )
  }

  /**
   * Records that the person confirmed the form. `check` sees the login first; if that throws, nothing
   * changes. Undefined if there is no such login.
   */
  confirm(state: string, check: (login: PendingLogin) => void): Promise<PendingLogin | undefined> {
    const confirmed_at = this.#parts.clock.now()
    return this.#rewrite(state, (before) => {
      check(before)
      return { ...before, confirmation: '', confirmed: true, confirmed_at }
    })
  }

  /**
   * Keeps for a poll how a login ended in the browser. `check` sees the login first; if that throws, nothing
   * changes. Undefined if no such login waits for a browser.
   */
  end(
    state: string,
    ending: Ending,
    check?: (login: PendingLogin) => void,
  ): Promise<PendingLogin | undefined> {
    return this.#rewrite(state, (before) => {
      check?.(before)
      return isOpenForBrowser(before)
        ? { ...before, ending, code: '', id_token: '', confirmation: '' }
        : undefined
    })
  }

  /** Notes a poll for a device. Undefined if the last one was too recent, or if there is no such login. */
  pace(state: string): Promise<PendingLogin | undefined> {
    const now = this.#parts.clock.now()
    return this.#rewrite(state, (before) =>
      before.polled + before.interval * 1000 > now ? undefined : { ...before, polled: now },
    )
  }

  /** From now on, polls for a device have to be further apart. RFC 8628 §3.5. */
  async slowDown(state: string): Promise<void> {
    await this.#rewrite(state, (before) => ({ ...before, interval: before.interval + slowDownSeconds }))
  }

  /**
   * Stores what `change` returns for the login as it is then, if it returns one. Undefined otherwise, and if
   * there is none or it is too old.
   */
  async #rewrite(
    state: string,
    change: (before: PendingLogin) => PendingLogin | undefined,
  ): Promise<PendingLogin | undefined> {
    const { view } = this.#parts
    for (;;) {
      const found = await view.read(stateKey(state))
      if (found === undefined) return undefined
      const before = readPendingLogin(found.value)
      if (this.#isOver(before.listed)) return undefined
      const login = change(before)
      if (login === undefined) return undefined
      const entries: ViewEntry[] = [
        { key: stateKey(state), value: storedPendingLogin(login), expect: found.revision },
      ]
      if (login.listed !== before.listed)
        entries.push({ key: before.listed, value: undefined }, { key: login.listed, value: 1 })
      if (await view.write(entries)) return login
    }
  }

  /** Removes expired ones. */
  async sweep(): Promise<void> {
    this.#counting ??= this.#walk().finally(() => {
      this.#counting = undefined
    })
    await this.#counting
  }

  /** A stolen store must not reveal who is logging in. */
  async #hashedAddress(remoteAddress: string): Promise<string> {
    const { view, random } = this.#parts
    this.#addressHash ??= (await openKeyedHashes(view, random, 'oidc/keys', ['address'])).address
    return this.#addressHash(countedAddress(remoteAddress), 'base64url')
  }

  async #checkAddress(prefix: string, writing: ReadonlySet<string>, own: string): Promise<void> {
    const now = this.#parts.clock.now()
    if (now < (this.#fullUntil.get(prefix) ?? 0)) throw tooMany()
    const stored = await this.#parts.view.listKeys(prefix, {
      after: this.#oldestAlive(prefix),
      limit: this.#limits.address,
    })
    if (stored.length + writing.size <= this.#limits.address) return
    // those being written count once, in order of arrival
    const held = new Set(stored)
    for (const key of writing) {
      if (key === own) break
      held.add(key)
    }
    if (held.size < this.#limits.address) return
    if (this.#fullUntil.size >= maxFullKept) this.#fullUntil.clear()
    if (stored.length >= this.#limits.address) this.#fullUntil.set(prefix, now + fullForMs)
    throw tooMany()
  }

  /**
   * Other servers may have begun logins of this address at the same time: whoever then finds more than the
   * limit removes its own again. Without a lock, this can refuse one more than necessary, but never one less.
   */
  async #checkAfterwards(prefix: string, listed: string): Promise<void> {
    const { view } = this.#parts
    const { address } = this.#limits
    const stored = await view.listKeys(prefix, { after: this.#oldestAlive(prefix), limit: address + 1 })
    if (stored.length <= address) return
    await view.write(removalOf(listed))
    this.#counted(prefix, -1)
    throw tooMany()
  }

  /** What must be removed so that one more fits; usually nothing. */
  async #roomInMount(prefix: string): Promise<ViewEntry[]> {
    const count = await this.#freshCount()
    if (count.total < this.#limits.mount) return []
    for (let attempt = 0; attempt < victimTries; attempt++) {
      const victim = attempt === 0 && count.byPrefix.has(prefix) ? prefix : nextVictim(count)
      const [oldest] = victim === undefined ? [] : await this.#parts.view.listKeys(victim, { limit: 1 })
      if (victim !== undefined) this.#counted(victim, -1)
      if (oldest !== undefined) return removalOf(oldest)
    }
    throw refuse('throttled', 'too many logins are waiting for their callback')
  }

  /** The number of pending logins, at most a few seconds old. */
  async total(): Promise<number> {
    return (await this.#freshCount()).total
  }

  async #freshCount(): Promise<Count> {
    if (this.#count === undefined || this.#count.at + recountAfterMs <= this.#parts.clock.now())
      await this.sweep()
    // a completed walk has counted
    if (this.#count === undefined) throw new Error('the pending logins were not counted')
    return this.#count
  }

  async #walk(): Promise<void> {
    const { view, clock } = this.#parts
    const count: Count = { byPrefix: new Map(), total: 0, at: clock.now(), victims: [] }
    let lookedAt = 0
    for await (const keys of view.keyPages(listRoot)) {
      const over = keys.filter((key) => this.#isOver(key))
      for (const id of over.map(idOf)) {
        // a poll has found it already
        if (this.#ends.has(id)) continue
        const login = lookedAt++ < mostLookedAt ? await this.#expired(id) : undefined
        this.#recordEnd(id, { why: 'expired', role: login?.role ?? '' })
        if (login !== undefined && login.mode !== 'client') await this.#parts.onAbandoned?.(login)
      }
      if (over.length > 0) await view.write(over.flatMap(removalOf))
      for (const key of keys) if (!this.#isOver(key)) add(count, prefixOf(key), 1)
    }
    this.#count = count
  }

  /** Undefined also if it cannot be read: it is removed all the same. */
  async #expired(id: string): Promise<PendingLogin | undefined> {
    try {
      const found = await this.#parts.view.read(loginRoot + id)
      return found && readPendingLogin(found.value)
    } catch {
      return undefined
    }
  }

  #counted(prefix: string, change: 1 | -1): void {
    if (change < 0) this.#fullUntil.delete(prefix)
    if (this.#count !== undefined) add(this.#count, prefix, change)
  }

  #isOver(listed: string): boolean {
    return timeOf(listed) + lifetimeMs <= this.#parts.clock.now()
  }

  /** A list key that precedes those of all logins that are still valid. */
  #oldestAlive(prefix: string): string {
    return prefix + paddedTime(this.#parts.clock.now() - lifetimeMs + 1)
  }
}

const tooMany = () => refuse('throttled', 'too many logins of this address are waiting for their callback')

function nextVictim(count: Count): string | undefined {
  if (count.victims.length === 0) {
    const most = [...count.byPrefix].sort(([, one], [, other]) => one - other).slice(-maxVictims)
    count.victims = most.map(([prefix, held]) => ({ prefix, floor: held >> 1 }))
  }
  for (let last = count.victims.at(-1); last !== undefined; last = count.victims.at(-1)) {
    if ((count.byPrefix.get(last.prefix) ?? 0) > last.floor) return last.prefix
    count.victims.pop()
  }
  return undefined
}

function add(count: Count, prefix: string, change: 1 | -1): void {
  const held = (count.byPrefix.get(prefix) ?? 0) + change
  if (held > 0) count.byPrefix.set(prefix, held)
  else count.byPrefix.delete(prefix)
  count.total += change
}

// oidc/from/<hash of the address>/<time>/<digest of the state>
const paddedTime = (time: number): string => String(Math.max(0, time)).padStart(15, '0')
const listKey = (prefix: string, time: number, state: string): string =>
  `${prefix}${paddedTime(time)}/${digest(state)}`
const prefixOf = (listed: string): string => listed.slice(0, listed.indexOf('/', listRoot.length) + 1)
const timeOf = (listed: string): number => Number(listed.split('/').at(-2))
/** The two records of a login. */
const removalOf = (listed: string): ViewEntry[] => [
  { key: listed, value: undefined },
  { key: loginRoot + idOf(listed), value: undefined },
]
const idOf = (listed: string): string => listed.slice(listed.lastIndexOf('/') + 1)
