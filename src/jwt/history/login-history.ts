import { z } from 'zod'
import type { View, ViewEntry } from '../../core/barrier/view.ts'
import { type KeyedHash, openKeyedHashes } from '../../core/records/keyed-hash.ts'
import { deleteOldest } from '../../core/records/oldest-out.ts'
import { ifReadable, isUnreadable, recordReader } from '../../core/records/stored-record.ts'
import type { CommittedLogin, LoginMemory } from '../../core/tokens/acts/issue-login.ts'
import { Cache } from '../../lib/data/cache.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { Random } from '../../lib/system/random.ts'
import type { KeptClaims } from './hashed-claims.ts'

/** How someone logged in. */
type LoginWay = 'login' | 'cel/login' | 'oidc/callback'

/** The record of the last login of a subject with a role. docs/contract/what-if.md#what-is-kept */
export type RememberedLogin = KeptClaims & {
  /** Keyed hash of the name of the alias. */
  readonly subject: string
  /** The entity; "" for a login without one. */
  readonly entity: string
  /** Milliseconds since the epoch. */
  readonly first: number
  readonly last: number
  readonly count: number
  readonly path: LoginWay
  /** The JWT was the token of a request. */
  readonly asToken: boolean
  /** The login named no role. */
  readonly byDefault: boolean
  readonly address: string
  readonly algorithm: string
  readonly keyId: string
  /** Patterns of the role that claims matched, by the names of these. */
  readonly matched: Readonly<Record<string, string>>
}

/** A successful login, as its method reports it. */
export type NotedLogin = Pick<RememberedLogin, 'path' | 'asToken' | 'byDefault' | 'address'> & {
  /** The role, and `cel/` in front of that of a CEL role. */
  readonly role: string
  readonly subject: string
  /** Equal for logins that differ in nothing that is remembered. */
  readonly sameAs: string
  /** The part that is written once an hour, or when something has changed. */
  remember(hash: KeyedHash): Pick<RememberedLogin, keyof KeptClaims | 'algorithm' | 'keyId' | 'matched'>
}

export type LoginHistoryParts = {
  /** The mount's own. */
  readonly view: View
  readonly random: Random
  readonly clock: Clock
}

/** Most subjects of a mount, of all its roles together. */
export const mostSubjects = 10_000
/** An unchanged subject costs no write for so long. */
const quietMs = 3_600_000
/** Nor does a changed one that a request carries, for so long. */
const carriedQuietMs = 60_000
const dayMs = 86_400_000
const prefix = 'logins/'
/** After so many new subjects, a server looks for the oldest ones. */
const addedBeforeTidying = 500

const readLogin = recordReader<RememberedLogin>(
  'login',
  z.object({ last: z.number(), subject: z.string(), values: z.object({}) }),
)

/** A subject that logged in at this server. */
type Known = { readonly sameAs: string; readonly at: number; uses: number }

const countUse = (known: Known): void => {
  known.uses += 1
}

/** The successful logins of one mount that are remembered, each with its last form. */
export class LoginHistory {
  readonly #parts: LoginHistoryParts
  readonly #known: Cache<Known>
  #hash: KeyedHash | undefined
  #added = 0
  #tidiedAt: number

  constructor(parts: LoginHistoryParts) {
    // nobody copies them, and the key never changes
    this.#parts = { ...parts, view: parts.view.view('', { numbers: 'plain', isUncopied: true }) }
    this.#tidiedAt = parts.clock.now()
    this.#known = new Cache<Known>({
      name: 'remembered logins',
      most: 10_000,
      mostWeight: 8 * 1024 * 1024,
      weigh: ({ sameAs }, key) => sameAs.length + key.length,
    })
  }

  /** The entries that the commit of a login also writes; undefined if the mount remembers none. */
  note(login: NotedLogin, days: number): LoginMemory | undefined {
    if (days === 0) {
      this.#known.dropAll()
      return undefined
    }
    const key = `${login.role}\0${login.subject}`
    const now = this.#parts.clock.now()
    const known = this.#known.get(key)
    const isRecent = (ms: number) => known !== undefined && Math.abs(now - known.at) < ms
    if (known?.sameAs === login.sameAs && isRecent(quietMs))
      return { entries: () => [], written: () => countUse(known) }
    let isRemembered = false
    return {
      entries: (committed) => {
        // a request that carries its login writes nothing else
        isRemembered = !(committed.isCarried && isRecent(carriedQuietMs))
        return isRemembered ? this.#entries(login, { ...committed, now, uses: known?.uses ?? 0 }) : []
      },
      written: () => {
        if (isRemembered) this.#known.set(key, { sameAs: login.sameAs, at: now, uses: 0 })
        else if (known !== undefined) countUse(known)
      },
    }
  }

  async #entries(
    login: NotedLogin,
    { entityId: entity, isNew, now, uses }: CommittedLogin & { now: number; uses: number },
  ): Promise<ViewEntry[]> {
    const { view } = this.#parts
    const hash = await this.hash()
    const subject = hash(login.subject, 'base64url')
    const key = keyOf(login.role, subject)
    // a subject without an entity has never logged in
    const before = isNew ? undefined : await ifReadable(this.#read(key))
    if (before === undefined) this.#added += 1
    const { path, asToken, byDefault, address } = login
    const count = (before?.count ?? 0) + uses + 1
    const ofSubject = { subject, entity, first: before?.first ?? now, last: now, count }
    const kept = login.remember(hash)
    const value: RememberedLogin = { ...ofSubject, path, asToken, byDefault, address, ...bounded(kept) }
    return [view.fromRoot({ key, value })]
  }

  /** The logins of the last days, of a role or of all roles, in pages. */
  async *logins(
    days: number,
    role?: string,
  ): AsyncGenerator<readonly { readonly role: string; readonly login: RememberedLogin }[], void, undefined> {
    const since = this.#since(days)
    const of = role === undefined ? prefix : keyOf(role, '')
    for await (const page of this.#records(of))
      yield page
        .map(({ key, login }) => ({ role: roleOf(key), login }))
        .filter(({ login }) => login.last >= since)
  }

  /** Records that cannot be read are left out. */
  async *#records(
    of: string,
  ): AsyncGenerator<readonly { readonly key: string; readonly login: RememberedLogin }[], void, undefined> {
    const { view } = this.#parts
    let after: string | undefined
    try {
      for await (const page of view.pages(of)) {
        yield page.map(({ key, value }) => ({ key, login: readLogin(value) }))
        after = page.at(-1)?.key
      }
      return
    } catch (error) {
      if (!isUnreadable(error)) throw error
    }
    for await (const keys of view.keyPages(of, after)) {
      const logins = await Promise.all(keys.map((key) => ifReadable(this.#read(key))))
      yield logins.flatMap((login, at) => (login === undefined ? [] : [{ key: keys[at] ?? '', login }]))
    }
  }

  async #read(key: string): Promise<RememberedLogin | undefined> {
    const stored = await this.#parts.view.get(key)
    return stored === undefined ? undefined : readLogin(stored)
  }

  #since(days: number): number {
    return this.#parts.clock.now() - days * dayMs
  }

  /** The keyed hash of the mount, which is that of its failures. */
  async hash(): Promise<KeyedHash> {
    const { view, random } = this.#parts
    this.#hash ??= (await openKeyedHashes(view, random, 'explain/keys', ['failures'])).failures
    return this.#hash
  }

  /** Tidies up if this server has added many, so that nobody can add without end. */
  async tidyAdded(days: number): Promise<void> {
    if (this.#added >= addedBeforeTidying) await this.#tidy(days)
  }

  /** Tidies up once an hour, and at once if nothing is to be kept. */
  async tidyDue(days: number): Promise<void> {
    const isDue = Math.abs(this.#parts.clock.now() - this.#tidiedAt) >= quietMs
    if (days > 0) return isDue ? this.#tidy(days) : undefined
    const { view } = this.#parts
    if ((await view.listKeys(prefix, { limit: 1 })).length > 0) await view.deletePrefix(prefix)
    this.#known.dropAll()
  }

  /** Deletes records that are too old, and then the oldest beyond the bound. */
  async #tidy(days: number): Promise<void> {
    this.#tidiedAt = this.#parts.clock.now()
    this.#added = 0
    const bounds = { since: this.#since(days), most: mostSubjects }
    await deleteOldest(this.#parts.view, this.#lastTimes(), bounds)
  }

  async *#lastTimes() {
    for await (const page of this.#records(prefix))
      yield page.map(({ key, login: { last } }) => ({ key, last }))
  }
}

type Remembered = ReturnType<NotedLogin['remember']>

/** The most characters of claims that a record keeps. For longer claims it keeps only the issuer. */
const mostText = 8 * 1024
const bounded = (kept: Remembered): Remembered =>
  JSON.stringify(kept).length <= mostText
    ? kept
    : { ...kept, audiences: undefined, names: undefined, values: {}, matched: {} }

/** `logins/role/<name>/<subject>` or `logins/cel/role/<name>/<subject>` */
const keyOf = (role: string, subject: string): string =>
  `${prefix}${role.replace(/^(cel\/)?/, '$1role/')}/${subject}`
const roleOf = (key: string): string => key.slice(prefix.length, key.lastIndexOf('/')).replace('role/', '')
