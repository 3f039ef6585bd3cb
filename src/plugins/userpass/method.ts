import type { CacheUses } from '../../core/cache-use.ts'
import type { Lockouts } from '../../core/lockout/lockouts.ts'
import type { Mount } from '../../core/mounts/mount.ts'
import type { MountStore } from '../../core/mounts/mount-store.ts'
import type { LoginAuth } from '../../core/tokens/issue-login.ts'
import type { RenewalTerms } from '../../core/tokens/renewal-terms.ts'
import type { Token } from '../../core/tokens/token.ts'
import { loginTerms, renewalTermsOf } from '../../core/tokens/token-fields.ts'
import { refuse } from '../../errors.ts'
import { addressMatches } from '../../lib/cidr.ts'
import type { Passwords } from './passwords/passwords.ts'
import { changedPolicies, changedSettings, hasPolicies, type User, type UserSettings } from './user.ts'
import { UserStore } from './user-store.ts'

export type UserpassMethodParts = {
  readonly mounts: Pick<MountStore, 'viewOf' | 'table'>
  readonly passwords: Passwords
  readonly lockouts: Lockouts
  readonly caches: CacheUses
}

/** A user at a mount; the name is in lower case. */
export type UserPlace = { readonly mount: Mount; readonly name: string }

export type LoginAttempt = UserPlace & {
  readonly password: string
  readonly remoteAddress: string
  /** Filled in: there is such a user. */
  exists: boolean
}

const maxNameBytes = 4096

/** The method `userpass` for all of its mounts. Each mount's users are found by its uuid, so they survive a move. */
export class UserpassMethod {
  readonly #parts: UserpassMethodParts
  readonly #storeByUuid = new Map<string, UserStore>()

  constructor(parts: UserpassMethodParts) {
    this.#parts = parts
  }

  usersOf(mount: Mount): UserStore {
    const known = this.#storeByUuid.get(mount.uuid)
    if (known !== undefined) return known
    this.#dropEnds()
    const { mounts, caches } = this.#parts
    const store = new UserStore(mounts.viewOf(mount), caches)
    this.#storeByUuid.set(mount.uuid, store)
    return store
  }

  #dropEnds(): void {
    for (const [uuid, store] of this.#storeByUuid) {
      if (this.#parts.mounts.table.byUuid(uuid) !== undefined) continue
      this.#storeByUuid.delete(uuid)
      store[Symbol.dispose]()
    }
  }

  find({ mount, name }: UserPlace): Promise<User | undefined> {
    return this.usersOf(mount).find(name)
  }

  /** Creates or changes a user. docs/contract/userpass.md#users */
  async put(place: UserPlace, sent: UserSettings, password: string): Promise<void> {
    if (Buffer.byteLength(place.name) > maxNameBytes)
      throw refuse('invalid', `username is longer than maximum of ${maxNameBytes} bytes`)
    const before = await this.find(place)
    if (before === undefined && password === '') throw noPassword()
    // before the work of hashing
    changedSettings(before?.settings, sent)
    const hash = password === '' ? undefined : await this.#parts.passwords.hash(password)
    await this.usersOf(place.mount).change(place.name, (stored) => {
      const passwordHash = hash ?? stored?.passwordHash
      if (passwordHash === undefined) throw noPassword()
      return { settings: changedSettings(stored?.settings, sent), passwordHash }
    })
  }

  async setPassword(place: UserPlace, password: string): Promise<void> {
    await this.#existing(place)
    if (password === '') throw noPassword()
    const passwordHash = await this.#parts.passwords.hash(password)
    await this.#change(place, (user) => ({ ...user, passwordHash }))
  }

  async setPolicies(
    place: UserPlace,
    sent: Pick<UserSettings, 'policies' | 'token_policies'>,
  ): Promise<void> {
    await this.#change(place, (user) => ({ ...user, settings: changedPolicies(user.settings, sent) }))
  }

  async #existing(place: UserPlace): Promise<User> {
    return (await this.find(place)) ?? noUser()
  }

  #change({ mount, name }: UserPlace, change: (user: User) => User): Promise<void> {
    return this.usersOf(mount).change(name, (stored) => change(stored ?? noUser()))
  }

  /**
   * Determines what a login grants. Throws the first refusal, in the order of
   * docs/contract/userpass.md#login
   */
  async login(attempt: LoginAttempt): Promise<LoginAuth> {
    const { lockouts, passwords } = this.#parts
    const { name, password, remoteAddress } = attempt
    lockouts.check(attempt)
    if (password === '') throw refuse('invalid', 'missing password', { reason: 'password_missing' })
    const user = await this.find(attempt)
    attempt.exists = user !== undefined
    const matches = await passwords.matches(password, user?.passwordHash, remoteAddress)
    // of many logins at once, no more count than one after the other
    lockouts.check(attempt)
    if (user === undefined || !matches) {
      await lockouts.noteFailure(attempt, attempt.exists)
      throw refuse('invalid', 'invalid username or password', { reason: 'password_wrong' })
    }
    if (!addressMatches(user.settings.token_bound_cidrs, remoteAddress))
      throw refuse('denied', 'permission denied', { reason: 'address_not_bound' })
    return {
      alias: { name, metadata: { username: name } },
      displayName: name,
      groupNames: [],
      ...loginTerms(user.settings),
      internal: { username: name },
    }
  }

  /** docs/contract/userpass.md#renewal */
  async renewalTerms(token: Token, mount: Mount): Promise<RenewalTerms> {
    const user = await this.find({ mount, name: token.internal['username'] ?? '' })
    if (user === undefined) return 'gone'
    if (!hasPolicies(user.settings, token.policies))
      return { ok: false, reason: 'policies have changed, not renewing' }
    return renewalTermsOf(user.settings)
  }
}

const noPassword = () => refuse('invalid', 'must provide either password or password_hash')

function noUser(): never {
  throw refuse('invalid', 'username does not exist')
}
