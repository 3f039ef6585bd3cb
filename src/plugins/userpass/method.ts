import type { Lockouts } from '../../core/lockout/lockouts.ts'
import type { Mount } from '../../core/mounts/mount.ts'
import type { MountStore } from '../../core/mounts/mount-store.ts'
import { PerMount } from '../../core/mounts/per-mount.ts'
import type { CacheUses } from '../../core/records/cache-use.ts'
import type { LoginAuth } from '../../core/tokens/acts/issue-login.ts'
import type { Client } from '../../core/tokens/acts/login-queue.ts'
import type { Token } from '../../core/tokens/store/token.ts'
import type { RenewalTerms } from '../../core/tokens/store/token-fields.ts'
import { loginTerms, renewalTermsOf } from '../../core/tokens/store/token-fields.ts'
import { tunedTypeWarnings, useLimitWarnings } from '../../core/tokens/store/token-type.ts'
import { refuse } from '../../errors.ts'
import { addressMatches } from '../../lib/net/cidr.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { LogLine } from '../../lib/system/log-fields.ts'
import type { Random } from '../../lib/system/random.ts'
import { LoginFailures } from '../../logins/explain/login-failures.ts'
import type { LoginSteps } from '../../logins/explain/login-steps.ts'
import { isGiven, type NewPassword, type Passwords } from './passwords/passwords.ts'
import { changedPolicies, changedSettings, hasPolicies, type User, type UserSettings } from './user.ts'
import { UserStore } from './user-store.ts'

export type UserpassMethodParts = {
  readonly mounts: Pick<MountStore, 'viewOf' | 'table'>
  readonly passwords: Passwords
  readonly lockouts: Lockouts
  readonly caches: CacheUses
  readonly random: Random
  readonly clock: Clock
  /** Most refused logins remembered per mount. */
  readonly failuresKept: number
  readonly log: { readonly error: LogLine }
}

/** A user at a mount; the name is in lower case. */
export type UserPlace = { readonly mount: Mount; readonly name: string }

export type LoginAttempt = UserPlace & {
  readonly password: string
  readonly client: Client
  /** Filled in: the user of that name. */
  user: User | undefined
  readonly steps: LoginSteps
}

const maxNameBytes = 2048

/** The checks of a login, in order. docs/contract/userpass.md#why-a-login-was-refused */
export const loginChecks = ['lockout', 'user', 'password', 'address'] as const

type Place = Disposable & { readonly users: UserStore; readonly failures: LoginFailures }

/** The method `userpass` for all of its mounts. */
export class UserpassMethod {
  readonly #parts: UserpassMethodParts
  readonly #places: PerMount<Place>

  constructor(parts: UserpassMethodParts) {
    this.#parts = parts
    const { mounts, random, clock, failuresKept: kept } = parts
    this.#places = new PerMount(mounts, (mount) => {
      const view = mounts.viewOf(mount)
      const users = new UserStore(view, parts)
      return {
        users,
        [Symbol.dispose]: () => users[Symbol.dispose](),
        failures: new LoginFailures({ view: view.view('', { numbers: 'plain' }), random, clock, kept }),
      }
    })
  }

  usersOf(mount: Mount): UserStore {
    return this.#places.of(mount).users
  }

  /** The refused logins of a mount. */
  failuresOf(mount: Mount): LoginFailures {
    return this.#places.of(mount).failures
  }

  find({ mount, name }: UserPlace): Promise<User | undefined> {
    return this.usersOf(mount).find(name)
  }

  /** Creates or changes a user; returns the warnings. docs/contract/userpass.md#users */
  async put(place: UserPlace, sent: UserSettings, password: NewPassword): Promise<string[]> {
    if (Buffer.byteLength(place.name) > maxNameBytes)
      throw refuse('invalid', `username is longer than maximum of ${maxNameBytes} bytes`)
    const before = await this.find(place)
    if (before === undefined && Object.values(password).every((one) => one === '')) throw noPassword()
    // before the work of hashing
    const settings = changedSettings(before?.settings, sent)
    const hash = isGiven(password) ? await this.#parts.passwords.hash(password) : undefined
    await this.usersOf(place.mount).change(place.name, (stored) => {
      const passwordHash = hash ?? stored?.passwordHash
      if (passwordHash === undefined) throw noPassword()
      return { settings: changedSettings(stored?.settings, sent), passwordHash }
    })
    return useLimitWarnings(place.mount.config.token_type, settings)
  }

  /** Warns of users that batch tokens keep from logging in. */
  tuned(...mounts: [before: Mount, now: Mount]): Promise<string[]> {
    return tunedTypeWarnings(mounts, async () => {
      const users = this.usersOf(mounts[1])
      return { names: await users.names(), find: async (name) => (await users.find(name))?.settings }
    })
  }

  async setPassword(place: UserPlace, password: NewPassword): Promise<void> {
    if ((await this.find(place)) === undefined) noUser()
    if (!isGiven(password)) throw noPassword()
    const passwordHash = await this.#parts.passwords.hash(password)
    await this.#change(place, (user) => ({ ...user, passwordHash }))
  }

  setPolicies(place: UserPlace, sent: Pick<UserSettings, 'policies' | 'token_policies'>): Promise<void> {
    return this.#change(place, (user) => ({ ...user, settings: changedPolicies(user.settings, sent) }))
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
    const { name, password, client, steps } = attempt
    steps.during('lockout', {}, () => lockouts.check(attempt))
    if (password === '') throw refuse('invalid', 'missing password', { reason: 'password_missing' })
    const user = await this.find(attempt)
    attempt.user = user
    const matches = await passwords.matches({
      password,
      client,
      // many logins with one name may have waited when it was locked
      checkAgain: () => lockouts.check(attempt),
      hash: user?.passwordHash,
      bcryptCost: await this.usersOf(attempt.mount).bcryptCost(),
    })
    // of many logins at once, no more count than one after the other
    lockouts.check(attempt)
    if (user === undefined || !matches) {
      if (user === undefined) steps.failed('user', 'password_wrong')
      else steps.passed('user', { seen: name })
      steps.failed('password', 'password_wrong')
      await lockouts.noteFailure(attempt, user !== undefined)
      throw refuse('invalid', 'invalid username or password', { reason: 'password_wrong' })
    }
    steps.passed('user', { seen: name })
    steps.passed('password')
    const { token_bound_cidrs: bound } = user.settings
    steps.during('address', { expected: (bound ?? []).slice(0, mostShown), seen: client.address }, () => {
      if (!addressMatches(bound, client.address))
        throw refuse('denied', 'permission denied', { reason: 'address_not_bound' })
    })
    return {
      alias: { name, metadata: null },
      metadata: { username: name },
      displayName: name,
      groupNames: [],
      ...loginTerms(user.settings),
      internal: { username: name },
    }
  }

  /** Forgets the wrong passwords of a name that has logged in, and keeps a place for its next login. */
  async noteLogin(attempt: LoginAttempt): Promise<void> {
    this.#parts.passwords.noteSuccess(attempt.client)
    await this.#parts.lockouts.noteLogin(attempt)
  }

  /**
   * After a login: replaces a hash of another function, or of another cost, by one of the same password. Never
   * rejects.
   */
  async renewHash({ mount, name, password, ...login }: LoginAttempt): Promise<void> {
    const { passwords, log } = this.#parts
    const verified = login.user?.passwordHash
    if (verified === undefined || !passwords.isOutdated(verified)) return
    try {
      const passwordHash = await passwords.hash({ password, password_hash: '' })
      await this.usersOf(mount).change(name, (user) =>
        // somebody may have changed the password since
        user?.passwordHash === verified ? { ...user, passwordHash } : undefined,
      )
    } catch (err) {
      log.error(
        { event: 'work_failed', err, mount: mount.path },
        'could not replace the hash of a password; the next login tries again',
      )
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

const mostShown = 16

const noPassword = () => refuse('invalid', 'must provide either password or password_hash')

function noUser(): never {
  throw refuse('invalid', 'username does not exist')
}
